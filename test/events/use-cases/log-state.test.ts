/** Tests of the positions that the log keeps: those of ended shards are short, and go. */
import { expect, test } from "vitest";
import type { ShardPosition } from "../../../src/events/ports/changes.ts";
import { withPosition } from "../../../src/events/use-cases/log-state.ts";

const hourMs = 3_600_000;
const none = { positions: {}, gaps: [] };

const at = (hours: number): ShardPosition => ({
  ...{ table: "points", stream: "arn", sequence: String(hours), time: hours * hourMs },
});

test("a shard that is open keeps its last record, one that has ended only that it has", () => {
  const open = withPosition(none, "s", at(1));
  expect(open.positions).toEqual({ s: at(1) });
  const { sequence: _, ...ended } = at(2);
  const { positions } = withPosition(open, "s", { ...at(2), ended: true });
  expect(positions).toStrictEqual({ s: { ...ended, ended: true } });
});

test("ended shards are forgotten a day after the stream lists them no more", () => {
  const other = { ...at(0), table: "bulk", ended: true } as const;
  let state = withPosition(none, "other", other);
  state = withPosition(state, "old", { ...at(0), ended: true });
  state = withPosition(state, "open", at(48));
  expect(Object.keys(state.positions)).toEqual(["other", "old", "open"]);
  state = withPosition(state, "open", at(49));
  expect(Object.keys(state.positions)).toEqual(["other", "open"]);
});
