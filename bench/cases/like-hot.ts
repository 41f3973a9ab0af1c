/** Measures likes of one comment by many callers of one process. */
import { type Hot, hotLockedOf, hotOf } from "../support/hot.ts";
import { commentOf, like, register } from "../support/likes.ts";

let comments = 0;

/** Likes of one comment, each by a new person, over one transaction for each like. */
const hot: Hot = {
  name: "like.hot",
  callers: 128,
  rounds: 6,
  target: ">= 4",
  locked: { 2: ">= 4", 4: ">= 6", 8: ">= 8" },
  plain: "bench/baselines/plain-likes.ts",
  bare: "a transaction for each like, without versions",
  queue: "a transaction each, the likes for one owner one after another",
  async prepare(stack) {
    const [comment, plainComment] = [commentOf(++comments), commentOf(++comments)];
    for (const each of [comment, plainComment]) await register(stack, each);
    return [(channel) => like(channel, comment), (channel) => like(channel, plainComment)];
  },
};

export const likeHot = hotOf(hot);
export const likeHotLocked = hotLockedOf(hot);
