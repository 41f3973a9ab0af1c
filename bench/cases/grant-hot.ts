/** Measures grants on one account by many callers of one process. */
import { grant, userName } from "../support/calls.ts";
import { type Hot, hotLockedOf, hotOf } from "../support/hot.ts";

/** Grants on one account, over one transaction for each grant through the same RPC path. */
const hot: Hot = {
  name: "grant.hot",
  callers: 64,
  rounds: 8,
  target: ">= 3",
  locked: { 2: ">= 4", 4: ">= 6", 8: ">= 8" },
  plain: "bench/baselines/plain-server.ts",
  bare: "a transaction for each grant, without a version",
  queue: "a transaction each, the calls of one account one after another",
  async prepare(_, ours) {
    const [userId, plainUser] = [userName(1), userName(2)];
    // The baseline updates an account in place, so the account has to exist.
    await grant(ours, plainUser);
    return [(channel) => grant(channel, userId), (channel) => grant(channel, plainUser)];
  },
};

export const grantHot = hotOf(hot);
export const grantHotLocked = hotLockedOf(hot);
