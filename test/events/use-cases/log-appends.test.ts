/** Tests of when batches are appended: how often, how full, and with a state that has no events. */
import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LogBatch, LogState } from "../../../src/events/ports/log.ts";
import { createLogAppends } from "../../../src/events/use-cases/log-appends.ts";
import { EventSchema } from "../../../src/gen/meguri/events/v1/event_pb.ts";

vi.mock("node:timers/promises", () => import("../../support/fixtures/timed-sleep.ts"));

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

const position = (sequence: string) =>
  ({ table: "points", stream: "arn", sequence, time: 1 }) as const;

/** Appends to a log that notes its batches and the positions with them. */
function createAppends() {
  const batches: { readonly ids: readonly string[]; readonly positions: readonly string[] }[] = [];
  const log = {
    async append({ events }: LogBatch, { positions }: LogState) {
      const sequences = Object.values(positions).map(({ sequence = "" }) => sequence);
      batches.push({ ids: events.map(({ id }) => id), positions: sequences });
      return true;
    },
  };
  const tail = { logId: "l", number: 0, time: 1 };
  const appends = createLogAppends(log, tail, { positions: {}, gaps: [] }, { onAppended() {} });
  const append = (id: string, bytes = 100) =>
    appends.append({
      table: "points",
      parts: id === "" ? [] : [{ events: [create(EventSchema, { id })], bytes }],
      next: (state) => ({ ...state, positions: { shard: position(id || "moved") } }),
    });
  return { append, batches, ids: () => batches.map(({ ids }) => ids) };
}

test("a batch is appended at once, the next one 100 ms later with all that has come", async () => {
  const { append, ids } = createAppends();
  await append("1");
  const more = Promise.all([append("2"), append("3")]);
  await vi.advanceTimersByTimeAsync(99);
  expect(ids()).toEqual([["1"]]);
  await vi.advanceTimersByTimeAsync(1);
  await more;
  expect(ids()).toEqual([["1"], ["2", "3"]]);
  await vi.advanceTimersByTimeAsync(100);
  await append("4");
  expect(ids()).toEqual([["1"], ["2", "3"], ["4"]]);
});

test("a full batch does not wait", async () => {
  const { append, ids } = createAppends();
  await append("1");
  await append("2", 256 * 1_024);
  expect(ids()).toEqual([["1"], ["2"]]);
});

test("positions that move without events are stored in a minute at the latest", async () => {
  const { append, batches } = createAppends();
  await append("1");
  await append("");
  await vi.advanceTimersByTimeAsync(59_999);
  await append("");
  expect(batches).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  await append("");
  await append("");
  expect(batches.slice(1)).toEqual([{ ids: [], positions: ["moved"] }]);
  const next = append("2");
  await vi.advanceTimersByTimeAsync(100);
  await next;
  expect(batches.at(-1)).toEqual({ ids: ["2"], positions: ["2"] });
});
