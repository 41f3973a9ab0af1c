/** Tests the checks: a recorded run is right, and each check finds what only it can find. */
import { expect, test } from "vitest";
import { byName, number } from "../../../src/platform/dynamodb/fields.ts";
import { type Item, num, text } from "../../../src/platform/dynamodb/sdk/attributes.ts";
import { parseEventName as named } from "../../../src/points/rules/ledger.ts";
import { check } from "./check.ts";
import { answered, found, type Run, recordedRun, refused, unanswered } from "./recorded-run.ts";

/** The changes of a run, by path: a value, a copy of another part, or `gone`. */
type Changes = Readonly<Record<string, unknown>>;
type Part = Record<string, unknown> | unknown[] | Map<string, unknown>;

const gone = Symbol("gone");

/** A copy of another part, with other values of some fields. */
const like = (path: string, change: Changes) => (run: Run) => ({ ...partAt(run, path), ...change });

function partAt({ record, state }: Run, path: string): Part {
  const [ann, bob] = ["ann", "bob"].map((userId) => state.ledgers.get(userId));
  let part: unknown = { sent: record, kept: state, ann, bob };
  for (const key of path.split(".")) {
    if (part instanceof Map) part = part.get(key);
    else part = Array.isArray(part) ? part.at(Number(key)) : (part as Changes)[key];
  }
  return found(part) as Part;
}

function make(run: Run, changes: Changes): void {
  for (const [path, value] of Object.entries(changes)) {
    const end = path.lastIndexOf(".");
    const [part, key] = [partAt(run, path.slice(0, end)), path.slice(end + 1)];
    const made = typeof value === "function" ? value(run) : value;
    if (Array.isArray(part)) part.splice(Number(key), 1, ...(made === gone ? [] : [made]));
    else if (part instanceof Map) made === gone ? part.delete(key) : part.set(key, made);
    else part[key] = made;
  }
}

const change = (request: object, ...attempts: object[]) => ({ request, attempts });
const no = [refused(50, "WRONG_STATE")];
const [done, cancelled] = ["sent.reservations.0", "sent.reservations.1"];
const [bDone, bCancelled] = ["sent.bulkGrants.0", "sent.bulkGrants.1"];
const [keptDone, keptCancelled] = ["kept.bulkGrants.b-done", "kept.bulkGrants.b-cancelled"];

const rightRuns: [name: string, changes: Changes][] = [
  ["as it was recorded", {}],
  [
    "with changes that were made without an answer",
    {
      [`${done}.sent.3`]: change({ op: "move", executeTime: 1_500 }, unanswered(45)),
      "ann.4": like("ann.0", { number: 5, event: named("c:n") }),
      "kept.reservations.unknown": like("kept.reservations.cancelled", {
        ...{ points: 9, state: "PENDING", executeTime: 1_000 },
      }),
      "kept.time": 999,
      "sent.programs.0.sent.1.attempts": [unanswered(20)],
    },
  ],
  [
    "without a change that had no answer",
    {
      "sent.programs.0.sent.1.attempts": [unanswered(20)],
      "kept.programs.p.lifetimes.1": gone,
    },
  ],
  [
    "that has granted its last row when it is cancelled",
    {
      [`${bDone}.sent.2`]: change({ op: "cancel" }, answered(3_500, {})),
      [`${keptDone}.actions`]: [{ action: "CANCEL" }],
    },
  ],
];

test.each(rightRuns)("a run %s passes", async (_, changes) => {
  const run = await recordedRun();
  make(run, changes);
  expect(check(run.record, run.state)).toEqual([]);
});

/** The report of a check, the changes that cause it, and the report of other checks. */
type Case = [wrong: RegExp, spoil: Changes | ((run: Run) => unknown), also?: RegExp];

const ofPointsAndPrograms: Case[] = [
  [/^server 1 ended$/, { "sent.surprises.0": "server 1 ended" }],
  [/^account ann: 1 is 2$/, { "kept.differences.0": "account ann: 1 is 2" }],
  [/p was to have 24 months, and has 12$/, { "kept.programs.p.lifetimes.1": gone }],
  [/p was to have 24 months, and has undefined$/, { "kept.programs.p": gone }],
  [
    /^lengthen of the program p was refused$/,
    { "kept.programs.p.lifetimes.1": gone, "sent.programs.0.sent.1.attempts": no },
  ],
  [/^g of ann was acknowledged, and has no entry/, { "ann.0": gone }, /has the number/],
  [/^g of ann was done 2 times, as entries 1, 5/, { "ann.4": like("ann.0", { number: 5 }) }],
  [
    /^n of ann was done 2 times, as entries 5, 6/,
    {
      "ann.4": like("ann.0", { number: 5, event: named("c:n") }),
      "ann.5": like("ann.4", { number: 6 }),
    },
  ],
  [
    /^r of ann was refused, and is entry 5/,
    { "ann.4": like("ann.1", { number: 5, event: named("c:r") }) },
    /r was refused: INSUFFICIENT/,
  ],
  [
    /r was refused: INSUFFICIENT_POINTS.*balances during the call: 50,30/,
    { "sent.points.2.attempts": [refused(25, "INSUFFICIENT_POINTS", { available_points: "31" })] },
  ],
  [
    /g of ann was answered entry 2, .* is entry 1/,
    { "sent.points.0.attempts.0.answer.entry.number": 2 },
  ],
  [
    /^g of ann was answered twice as not/,
    { "sent.points.0.attempts.1": like("sent.points.0.attempts.0", {}) },
  ],
  [/entry 4 of ann has the number 5/, { "ann.3.number": 5 }],
  [
    /entry 5 of ann is c:x, which nobody/,
    { "ann.4": like("ann.0", { number: 5, event: named("c:x") }) },
  ],
  [/entry 4 of ann leaves -1/, { "ann.3.availablePoints": -1 }],
  [
    /be of bob was acknowledged, and has no entry/,
    { "bob.1": gone },
    /has the number|by its record|answered entry/,
  ],
  [/1 points more than c:bg of bob has/, { "bob.1.points": 61 }, /be of bob was answered/],
  [/be of bob was answered entry 2/, { "sent.points.5.attempts.1.answer.entry.changes": [] }],
  [
    /bx was refused: LIMIT_EXCEEDED/,
    {
      "sent.points.6.operation.reverses": "bg",
      "sent.points.6.attempts": [refused(120, "LIMIT_EXCEEDED")],
    },
  ],
];

const ofHolds: Case[] = [
  [/^hold h-4 of bob has entry 11 of 6 points, and no/, { "kept.holds.h-4": gone }, /bob holds 6/],
  [/^h-4 of bob was acknowledged, and has no entry/, { "bob.10": gone }, /by its record/],
  [
    /^hold h-1 of bob has 1 captures of 15 points by its record, and 2 captures of 15 points by/,
    { "kept.holds.h-1.captureCount": 1 },
  ],
  [/^hold h-1 of bob has 2 captures of 14 points by/, { "kept.holds.h-1.capturedPoints": 14 }],
  [
    /^k-1 of bob was done 2 times, as entries 4, 12/,
    { "bob.11": like("bob.3", { number: 12 }) },
    /points more than h:h-1|hold h-1 of bob has/,
  ],
  [
    /20 points more than h:h-1 of bob has are reversed/,
    { "bob.4.points": 25 },
    /hold h-1 of bob has|k-2 of bob was answered|k-3 was refused/,
  ],
  [/^l-2 of bob was acknowledged/, { "bob.7.reason": "" }, /RELEASED by its record, and EXPIRED/],
  [/entry 8 of bob is h:h-2\/release, which nobody/, { "bob.7.reason": "l-9" }, /l-2 of bob/],
  [/^hold h-3 of bob is RELEASED by .* EXPIRED by/, { "kept.holds.h-3.state": "RELEASED" }],
  [
    /^hold h-4 of bob is due, and was never released/,
    { "kept.holds.h-4.until": 40_000, "sent.holds.8.operation.until": 40_000 },
  ],
  [/^hold h-4 of bob is until 500001 .* not until 500000/, { "kept.holds.h-4.until": 500_001 }],
  [/^hold h-3 of bob has timed out 1 ms early/, { "kept.holds.h-3.updateTime": 99 }],
  [/^bob holds 7 points, and open holds have 6/, { "kept.heldPoints.bob": 7 }],
  [/^k-3 was refused: WRONG_STATE/, { "sent.holds.3.attempts": [refused(1, "WRONG_STATE")] }],
  [
    /^k-3 was refused: LIMIT_EXCEEDED/,
    { "sent.holds.3.attempts": [refused(33, "LIMIT_EXCEEDED", { capturable_points: "31" })] },
  ],
  [/^l-0 was refused: HOLD_NOT_F/, { "sent.holds.6.attempts": [refused(120, "HOLD_NOT_FOUND")] }],
];

const ofReservations: Case[] = [
  [/cancelled was acknowledged, and is lost/, { "kept.reservations.cancelled": gone }],
  [
    /done is due, and was never granted/,
    { "ann.2": gone, "ann.2.number": 3, "kept.reservations.done.state": "PENDING" },
    /a change of it was refused/,
  ],
  [/done is DONE, and has no entry/, { "ann.2": gone, "ann.2.number": 3 }],
  [/done was granted 2 times, as entries 3, 5/, { "ann.4": like("ann.2", { number: 5 }) }],
  [/done is entry 2 by its record, and 3 by/, { "kept.reservations.done.grant.entryNumber": 2 }],
  [/done was granted 1 ms early/, { "ann.2.createTime": 1_999 }],
  [/done is due at 1000, and was moved to 2000/, { "kept.reservations.done.executeTime": 1_000 }],
  [
    /cancelled is CANCELLED, and was granted as 5/,
    { "ann.4": like("ann.2", { number: 5, event: named("r:cancelled") }) },
  ],
  [
    /cancelled was cancelled, and is DONE/,
    { "kept.reservations.cancelled.state": "DONE" },
    /no entry/,
  ],
  [/cancelled is CANCELLED, and no cancel was accepted/, { [`${cancelled}.sent.1.attempts`]: no }],
  [
    /cancelled is PENDING, and a change of it was refused/,
    {
      [`${cancelled}.sent.1.attempts`]: no,
      "kept.reservations.cancelled.state": "PENDING",
      "kept.time": 999,
    },
  ],
  [
    /cancelled has failed: LIMIT_EXCEEDED/,
    {
      [`${cancelled}.sent.1`]: gone,
      "kept.reservations.cancelled.state": "FAILED",
      "kept.reservations.cancelled.failure": { reason: "LIMIT_EXCEEDED" },
    },
  ],
  [
    /unknown was refused, and is there/,
    {
      "sent.reservations.2.sent.0.attempts": no,
      "kept.reservations.unknown": like("kept.reservations.cancelled", { points: 9 }),
    },
    /is of 9 points|is due at|no cancel was accepted/,
  ],
  [
    /cancelled was refused as PROGRAM_NOT_FOUND/,
    {
      [`${cancelled}.sent.2`]: change(
        { op: "move", executeTime: 1_000 },
        refused(45, "PROGRAM_NOT_FOUND"),
      ),
    },
  ],
  [
    /unknown was granted, and is not/,
    { "ann.4": like("ann.2", { number: 5, event: named("r:unknown") }) },
  ],
  [
    /other was granted, and nobody/,
    { "ann.4": like("ann.2", { number: 5, event: named("r:other") }) },
  ],
  [
    /due at 2000, and was answered as due at 1000/,
    { [`${done}.sent.1.attempts.0.answer.executeTime`]: 1_000 },
  ],
  [
    /was cancelled, and was answered DONE/,
    { [`${cancelled}.sent.1.attempts.1.answer.state`]: "DONE" },
  ],
  [/cancelled is of 6 points for ann/, { "kept.reservations.cancelled.points": 6 }],
  [
    /cancelled is of 8 points for ann/,
    { [`${cancelled}.sent.2`]: change({ op: "points", points: 6 }, answered(45, { points: 6 })) },
  ],
  [
    /done was to be of 7 points, and was answered as of 5 points/,
    { [`${done}.sent.3`]: change({ op: "points", points: 7 }, answered(65, { points: 5 })) },
  ],
];

const ofBulkGrants: Case[] = [
  [/b-cancelled was acknowledged, and is lost/, { [keptCancelled]: gone }],
  [
    /b-done is not there, and has granted 1 rows/,
    { [keptDone]: gone, [`${bDone}.sent.0.attempts`]: [unanswered(50)] },
  ],
  [
    /b-other has granted points, and nobody has sent it/,
    { "ann.4": like("ann.3", { number: 5, event: named("b:b-other_ann") }) },
  ],
  [
    /which was granted 2 times, as 4, 5/,
    {
      "ann.4": like("ann.3", { number: 5 }),
      [`${keptDone}.result`]: { grantedCount: 2, grantedPoints: 10 },
    },
  ],
  [
    /which was granted other points than 5/,
    { "ann.3.points": 6, [`${keptDone}.result.grantedPoints`]: 6 },
  ],
  [
    /b-done counts 0 rows with 5 points, and has granted 1 rows with 5 points/,
    { [`${keptDone}.result.grantedCount`]: 0 },
  ],
  [/b-done has granted the row of ann early/, { "ann.3.createTime": 1_999 }],
  [
    /b-done has granted the row of ann early/,
    { [`${bDone}.executeTime`]: undefined, "ann.3.createTime": 499 },
  ],
  [
    /b-done has granted 1 rows without an appr/,
    { [`${bDone}.sent.1`]: gone },
    /approved by nobody/,
  ],
  [/b-done was run, and approved by nobody/, { [`${bDone}.sent.1.attempts`]: no }],
  [/b-done has granted the row of ann after its end/, { "ann.3.createTime": 4_001 }],
  [
    /b-cancelled has a row for ann, which is NOT_RUN, and was granted as 5/,
    { "ann.4": like("ann.3", { number: 5, event: named("b:b-cancelled_ann") }) },
    /b-cancelled has granted 1 rows without an approval/,
  ],
  [/which is GRANTED, and has no entry/, { [`${keptCancelled}.rows.0.state`]: "GRANTED" }],
  [
    /b-done has a row for ann, which was not granted/,
    {
      "ann.3": gone,
      [`${keptDone}.rows.0.state`]: "NOT_RUN",
      [`${keptDone}.result`]: { grantedCount: 0, grantedPoints: 0 },
    },
  ],
  [/b-cancelled has 0 of 1 rows/, { [`${keptCancelled}.rows.0`]: gone }],
  [/which has 6 points/, { [`${keptCancelled}.rows.0.points`]: 6 }],
  [/b-done is still RUNNING/, { [`${keptDone}.state`]: "RUNNING" }],
  [/b-done is still APPROVED/, { [`${keptDone}.state`]: "APPROVED" }],
  [/b-done was approved, and awaits it/, { [`${keptDone}.state`]: "AWAITING_APPROVAL" }],
  [/b-cancelled was cancelled by nobody/, { [`${bCancelled}.sent.1`]: gone }],
  [
    /b-done was cancelled, and is DONE/,
    { [`${bDone}.sent.2`]: change({ op: "cancel" }, answered(3_500, {})) },
  ],
  [/b-done is DONE_WITH_FAILURES/, { [`${keptDone}.state`]: "DONE_WITH_FAILURES" }],
  [/b-done is DONE$/, { [`${bDone}.sent.2`]: change({ op: "reject" }, answered(3_500, {})) }],
  [/b-done was rejected by nobody/, { [`${keptDone}.state`]: "REJECTED" }],
  [
    /b-done refused SELF_APPROVAL/,
    { [`${bDone}.sent.2`]: change({ op: "approve" }, refused(500, "SELF_APPROVAL")) },
  ],
  [/b-cancelled was refused, and is there/, { [`${bCancelled}.sent.0.attempts`]: no }],
  [
    /b-done has granted points to eve, who has no row/,
    {
      "kept.ledgers.eve": (run: Run) => [
        like("ann.3", { number: 1, event: named("b:b-done_eve") })(run),
      ],
      [`${keptDone}.result`]: { grantedCount: 2, grantedPoints: 10 },
    },
  ],
];

const items = ({ state }: Run) => state.tables.reactions as Item[];
const itemOf = (run: Run, name: "sk" | "i", value: string) =>
  found(items(run).find((each) => text(each, name) === value));
const drop = <T>(list: T[], item: T) => list.splice(list.indexOf(item), 1);
const again = (path: string, op: string, about: object) => (run: Run) =>
  like(path, { request: { ...partAt(run, `${path}.request`), op, ...about } })(run);

const ofFeeds: Case[] = [
  [
    /reaction post#p#like ann was made, and is lost/,
    (run) => drop(items(run), itemOf(run, "sk", "ann")),
    /counts 2 of like, and has 1|notifications and their members/,
  ],
  [/reaction post#p#like bob was made, and is lost/, { "sent.reactions.2": gone }],
  [
    /reaction post#p#like cat was removed, and is stored/,
    { "sent.reactions.6": again("sent.reactions.4", "unreact", {}) },
  ],
  [/reaction post#p#like cat is stored, and nobody has sent it/, { "sent.reactions.4": gone }],
  [/reaction post#p#like cat was refused/, { "sent.reactions.4.attempts": no }],
  [
    /2 reactions have the version owner 1/,
    (run) => {
      itemOf(run, "sk", "cat").n = { N: String(num(itemOf(run, "sk", "ann"), "n")) };
    },
    /notifications and their members/,
  ],
  [
    /post#p counts 3 of like, and has 2/,
    (run) => {
      itemOf(run, "sk", "T").k = byName(number).encode({ like: 3 });
    },
    /notifications and their members/,
  ],
  [
    /event e-1 was acknowledged, and is lost/,
    (run) => drop(items(run), itemOf(run, "i", "e-1")),
    /notifications and their members/,
  ],
  [
    /event e-1 is there after all/,
    { "sent.events.3": again("sent.events.2", "retract", { eventId: "e-1" }) },
  ],
  [
    /event e-1 is stored 2 times/,
    (run) => items(run).push(itemOf(run, "i", "e-1")),
    /notifications and their members/,
  ],
  [/event e-1 is stored, and nobody has sent it/, { "sent.events.0": gone }],
  [/event e-1 was refused/, { "sent.events.0.attempts": no }],
  [
    /notifications and their members/,
    ({ state: { tables } }) => {
      const all = tables.notifications as Item[];
      drop(all, found(all.find((each) => text(each, "sk") === "U#like#post#p")));
    },
  ],
  [
    /owner like#post#p is unread from \d+, and was read to 100/,
    { "sent.reads.0.request.version": 100 },
  ],
];

test.each([ofPointsAndPrograms, ofHolds, ofReservations, ofBulkGrants, ofFeeds].flat())(
  "%s is found, and nothing else",
  async (wrong, spoil, also = wrong) => {
    const run = await recordedRun();
    if (typeof spoil === "function") spoil(run);
    else make(run, spoil);
    const lines = check(run.record, run.state);
    expect(lines.filter((line) => wrong.test(line))).not.toEqual([]);
    expect(lines.filter((line) => !wrong.test(line) && !also.test(line))).toEqual([]);
  },
);
