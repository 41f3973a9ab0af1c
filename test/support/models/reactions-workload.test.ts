/** Tests the search for the order of requests of which some may have been done or not. */
import { expect, test } from "vitest";
import { eventsOf, type Request } from "./reactions-requests.ts";
import { applyAll, type Logged, type RequestLog } from "./reactions-workload.ts";

const target = { type: "post", id: "1" };
const kind = eventsOf("comment");
const event = { service: "blog", eventId: "e-1", target };
const content = {
  userId: "ann",
  displayName: "Ann",
  link: "",
  data: "",
  regroupAfterMs: undefined,
};
const notify: Request = { op: "notify", ...event, kind, ...content };
const retract: Request = { op: "retract", ...event };
const dismiss: Request = { op: "dismiss", target, kind, generation: 1, version: 1 };

const logged = (request: Request, answer?: Logged["answer"]): Logged => ({
  request,
  isMuted: false,
  time: 1,
  ...(answer && { answer }),
});

/** A log of one event, and of what may have ended its notification. */
const logOf = (possible: readonly Logged[]): RequestLog => ({
  ownerId: "owner",
  targets: [target],
  acknowledged: new Map([[1, logged(notify)]]),
  possible: new Map([[2, [...possible]]]),
  between: { version: 0, requests: [] },
});

test("what was answered as done comes before what only may have been", () => {
  const log = logOf([logged(dismiss), logged(retract, { changed: true })]);
  expect(applyAll(log, 2, new Map()).dismissed).toEqual([]);
  const ambiguous = logOf([logged(dismiss), logged(retract)]);
  expect(applyAll(ambiguous, 2, new Map()).dismissed).toHaveLength(1);
});

test("a request that was answered as done and took no version is named", () => {
  const unreact: Request = { op: "unreact", target, kind: "like", userId: "ann" };
  const log = logOf([logged(dismiss), logged(unreact, { changed: true, reactionCount: 0 })]);
  expect(() => applyAll(log, 2, new Map())).toThrow(/no order of owner has .*unreact/);
});

test("the requests near a version that none has taken are named", () => {
  const log = logOf([logged(retract, { changed: false })]);
  expect(() => applyAll(log, 2, new Map())).toThrow(
    /^no request follows version 1 of owner\n2 possible: .*retract.*by the oracle .*"changed":true/,
  );
});
