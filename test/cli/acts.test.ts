/** Tests how `meguri log` reads times, where days begin at other hours, and shows changes. */
import { create, type Message } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { ActSchema } from "@meguri/client/acts";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { log } from "../../packages/cli/src/acts.ts";
import type { Columns } from "../../packages/cli/src/output.ts";
import type { Session } from "../../packages/cli/src/session.ts";

const zone = process.env.TZ;
beforeEach(() => {
  process.env.TZ = "America/Santiago";
});
afterEach(() => {
  vi.useRealTimers();
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

const since = (text: string): string => {
  const { read } = log.inputs.find(({ key }) => key === "since") ?? {};
  return timestampDate(read?.(text) as Timestamp).toISOString();
};

// The clocks of Chile go from 00:00 to 01:00 at the beginning of 6 September 2026.
test.each([
  ["2026-09-06T18:00:00Z", "2026-09-05T04:00:00.000Z", "2026-09-06T04:00:00.000Z"],
  ["2026-09-07T18:00:00Z", "2026-09-06T04:00:00.000Z", "2026-09-07T03:00:00.000Z"],
  ["2026-09-06T03:59:59Z", "2026-09-04T04:00:00.000Z", "2026-09-05T04:00:00.000Z"],
])("at %s yesterday began at %s, and today at %s", (now, yesterday, today) => {
  vi.useFakeTimers({ toFake: ["Date"], now: new Date(now) });
  expect(since("yesterday")).toBe(yesterday);
  expect(since("today")).toBe(today);
});

test("a value that looks like a change is in quotes", async () => {
  let shown: Columns<Message> = {};
  const list = (_: unknown, __: unknown, columns: Columns<Message>) => {
    shown = columns;
  };
  await log.run({ out: { list } } as unknown as Session, create(log.input), {});
  const changes = [
    { field: "source", before: "", after: "a/b; state: A → B" },
    { field: "tiers", before: "none", after: "[1]" },
  ];
  expect(shown.changes?.(create(ActSchema, { changes }))).toBe(
    'source: none → "a/b; state: A → B"; tiers: "none" → [1]',
  );
});
