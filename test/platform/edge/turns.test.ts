/** Tests that the calls of many connections begin by turns. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { byTurns } from "../../../src/platform/edge/grpc/turns.ts";

/** A stream as `byTurns` looks at it. */
const streamOf = (session: object) => {
  const stream = { session, destroyed: false, errors: 0, on: () => (stream.errors += 1) };
  return stream;
};

function createTurns(callsPerTurn: number) {
  const begun: string[] = [];
  const begin = byTurns((_, name: string) => void begun.push(name), callsPerTurn);
  return { begun, begin: begin as unknown as (stream: object, name: string) => void };
}

test("a burst of one connection lets the calls of others begin in the next turn", async () => {
  const { begun, begin } = createTurns(2);
  const [greedy, good] = [{}, {}];
  for (let i = 0; i < 6; i++) begin(streamOf(greedy), `greedy ${i}`);
  begin(streamOf(good), "good 0");
  begin(streamOf(good), "good 1");
  expect(begun).toEqual(["greedy 0", "greedy 1"]);
  await nextTurn();
  expect(begun.slice(2)).toEqual(["greedy 2", "good 0"]);
  await nextTurn();
  expect(begun.slice(4)).toEqual(["greedy 3", "good 1"]);
  await nextTurn();
  expect(begun.slice(6)).toEqual(["greedy 4", "greedy 5"]);
});

test("calls begin at once again after a turn without a burst", async () => {
  const { begun, begin } = createTurns(2);
  const session = {};
  for (let i = 0; i < 3; i++) begin(streamOf(session), String(i));
  await nextTurn();
  await nextTurn();
  begin(streamOf(session), "3");
  expect(begun).toEqual(["0", "1", "2", "3"]);
});

test("a stream that ends while it waits does not begin, and its error ends nothing", async () => {
  const { begun, begin } = createTurns(1);
  const session = {};
  const left = streamOf(session);
  begin(streamOf(session), "first");
  begin(left, "left");
  begin(streamOf(session), "last");
  left.destroyed = true;
  await nextTurn();
  expect(begun).toEqual(["first", "last"]);
  expect(left.errors).toBe(1);
});
