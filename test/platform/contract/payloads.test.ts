/** Tests that every payload schema refuses each wrong field, and ids as the API does. */
import { getOption } from "@bufbuild/protobuf";
import { predefined } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { readPayload } from "../../../activities/checked.ts";
import * as ofBulkGrants from "../../../src/bulk-grants/contract/payloads.ts";
import * as ofFeed from "../../../src/feed/contract/payloads.ts";
import { file_meguri_rules_v1_rules as rulesFile } from "../../../src/gen/meguri/rules/v1/rules_pb.ts";
import * as ofHolds from "../../../src/holds/contract/payloads.ts";
import * as fields from "../../../src/platform/contract/payloads.ts";
import * as ofPoints from "../../../src/points/contract/payloads.ts";
import * as ofReservations from "../../../src/reservations/contract/payloads.ts";

/** Every payload, by its name, with the schemas of its fields. */
const payloads = [ofBulkGrants, ofFeed, ofHolds, ofPoints, ofReservations, fields]
  .flatMap((module) => Object.entries<unknown>({ ...module }))
  .filter((entry): entry is [string, z.ZodPipe<z.ZodObject>] => {
    const [, schema] = entry;
    return schema instanceof z.ZodPipe && schema.in instanceof z.ZodObject;
  })
  .map(([name, schema]) => [name, schema, schema.in.shape] as const);

const time = "2026-12-01T00:00:00+09:00";
const badTimes = [
  ...["", "tomorrow", "2026-12-01", "2026-12-01T00:00:00", "2026-02-30T00:00:00Z", 1_796_000_000],
  ...["2026-12-01T25:00:00Z", "2026-13-01T00:00:00Z", "2026-12-01T00:00:00+99:99"],
];
const text = ["a b", "", 5] as const;
const idOf = (mostBytes: number) =>
  ["r-1", "", "a b", "a#b", "x".repeat(mostBytes + 1), 5] as const;
const bulkGrantId = ["秋 1", "", " a", "a#b", "x".repeat(129), "e\u0301", 5] as const;
const whole = [3, -1, 1.5, "3", Number.NaN] as const;

/** A right value of each field, and wrong ones beside null, a list and an object. */
const examples: Readonly<Record<string, readonly [unknown, ...unknown[]]>> = {
  program_id: ["shop", "", "Shop", "-a", "x".repeat(33), 5],
  ...{ reservation_id: idOf(64), user_id: idOf(128), job_id: idOf(64), id: idOf(256) },
  hold_id: ["h", "h/1", "", "a#b", 5],
  ...{ type: ["post", "", "Post"], kind: ["like", "", 5] },
  ...{ points: [10, 0, -1, 1.5, 1_000_000_001, "10"], lead_ms: whole },
  ...{ execute_time: [time, ...badTimes], execute_time_at_start: [time, ...badTimes] },
  ...{ until: [time, ...badTimes], since: [time, ...badTimes], start_time: [time, ...badTimes] },
  ...{ month: ["2026-11", "2026-13", "11", 24_322], expire_month: ["2026-11", "2026-00", ""] },
  ...{ cursor: text, source: text, source_name: text, title: text, cause: text, message: text },
  ...{ reserved_by: text, held_by: text, traceparent: text, original_run_id: text },
  list: text,
  reason: ["why", "a\nb", "x".repeat(129), 5],
  subject: ["aki", "a\u202eb", "x".repeat(65), 5],
  ...{ allow_past_execute_time: [true, "yes", 1], skip_zero: [true, "yes", 1] },
  encoding: ["shift_jis", "sjis", "", 5],
  rows: [[{ user_id: "aki", points: 1 }], 5, [5], [{}], [{ user_id: "aki", points: "1" }]],
  ...{ shard: whole, segment: whole, segments: whole, failed: whole, started: whole },
  ...{ expire_after_months: whole, more_count: whole },
  ...{ revision: whole, run: whole, from: whole, to: whole },
  sum: [{ accounts: 1 }, 5],
  files: [[{ source: "a", reason: "INVALID" }], 5, [5]],
  failures: [[{ program_id: "shop", reason: "INTERNAL", hold_id: "h" }], 5, [{}]],
};

/** Fields that are of another type in one payload than in the others. */
const others: typeof examples = {
  "bulkGrantInput bulk_grant_id": bulkGrantId,
  "bulkGrantOfRows cause": ["why", "a\nb", "x".repeat(129), 5],
  "moveFileInput to": ["done", "away", ""],
};

const loose = ["reservationInput", "holdInput", "writeRefusalInput"];

function examplesOf(payload: string, field: string): readonly [unknown, ...unknown[]] {
  // A reason that a run only shows, or that was made by a worker, is any text.
  if (field === "reason" && loose.includes(payload)) return text;
  if (field === "bulk_grant_id") {
    return payload.includes("Source") || /Sheet|Refusal/.test(payload) ? text : bulkGrantId;
  }
  return others[`${payload} ${field}`] ?? examples[field] ?? expect.unreachable(field);
}

test.each(payloads)("%s has its example, and nothing else in the place of a field", (...args) => {
  const [name, schema, shape] = args;
  const names = Object.keys(shape);
  const right = Object.fromEntries(names.map((field) => [field, examplesOf(name, field)[0]]));
  expect(() => readPayload(schema, right)).not.toThrow();
  for (const field of names) {
    const [, ...wrong] = examplesOf(name, field);
    for (const value of [null, [[]], true, ...wrong]) {
      if (value === true && right[field] === true) continue;
      const message = new RegExp(`^${field}(\\.[\\w.]+)?: must be `);
      const refused = expect.objectContaining({
        reason: "INVALID_REQUEST",
        message: expect.stringMatching(message),
      });
      expect(() => readPayload(schema, { ...right, [field]: value }), `${value}`).toThrow(refused);
    }
    const without = () => readPayload(schema, { ...right, [field]: undefined });
    const isOptional = (shape[field] as z.ZodType).safeParse(undefined).success;
    if (isOptional) expect(without).not.toThrow();
    else expect(without).toThrow(`${field}: must be`);
  }
  for (const value of [undefined, null, "shop", 5]) {
    expect(() => readPayload(schema, value)).toThrow("the input: must be an object");
  }
});

test("a refusal is short and on one line, whatever name a field has", () => {
  const row = { user_id: "u", points: 1, [`a\nb${"c".repeat(100_000)}`]: 1 };
  const input = { program_id: "p", bulk_grant_id: "b", rows: [row] };
  const read = () => readPayload(ofBulkGrants.bulkGrantOfRows, input);
  expect(read).toThrow(/^rows\.0: Unrecognized key: "a bc{400,500}$/);
});

test("there are payloads of every feature", () => {
  expect(payloads.length).toBeGreaterThan(25);
});

describe("the form of ids in the API and in payloads is the same:", () => {
  test.each([
    ["id", fields.id],
    ["hold_id", fields.holdId],
    ["program_id", fields.programId],
    ["user_id", fields.userId],
    ["target_id", fields.targetId],
    ["target_type", fields.targetType],
    ["month", fields.month],
  ])("%s", (name, schema) => {
    const rule = rulesFile.extensions.find((each) => each.name === name);
    const [{ expression = "", message = "" } = {}] = rule ? getOption(rule, predefined).cel : [];
    const [, form = ""] = /^this\.matches\('(.+)'\)$/.exec(expression) ?? [];
    expect(form).not.toBe("");
    const sample = fc.oneof(fc.string({ maxLength: 260 }), fc.stringMatching(new RegExp(form)));
    fc.assert(
      fc.property(sample, (value) => {
        expect(schema.safeParse(value).success).toBe(new RegExp(form).test(value));
      }),
    );
    if (name !== "month") expect(schema.safeParse("").error?.message).toContain(message);
  });
});
