/** Tests that wrong bulk grants are found in a recorded run. */
import { expect, test } from "vitest";
import { check } from "./check.ts";
import { answered, at, entry, found, ledger, type Run, recordedRun } from "./recorded-run.ts";
import { type Case, expectFound } from "./spoiled-run.ts";

const bulk = ({ state }: Run, id: string) => found(state.bulkGrants.get(id));
const rowOfEve = { origin: "b", eventId: "b-done_eve" } as const;

/** Adds an acknowledged cancel of the bulk grant that is done. */
function cancelled({ record }: Run): void {
  const request = { op: "cancel" } as const;
  at(record.bulkGrants, 0).sent.push({ request, attempts: [answered(3_500, {})] });
}

const cases: Case[] = [
  [
    "lost",
    ({ state }) => state.bulkGrants.delete("b-done"),
    /b-done was acknowledged, and is lost/,
  ],
  [
    "doubled",
    (run) => ledger(run).push({ ...entry(run, 4), number: 5 }),
    /b-done has a row for ann, which was granted 2 times, as 4, 5/,
  ],
  [
    "other points",
    (run) => {
      entry(run, 4).points = 6;
    },
    /b-done has a row for ann, which was granted other points than 5/,
  ],
  [
    "a wrong count",
    (run) => {
      found(bulk(run, "b-done").result).grantedCount = 0;
    },
    /b-done counts 0 rows with 5 points, and has granted 1 rows with 5 points/,
  ],
  [
    "before its time",
    (run) => {
      entry(run, 4).createTime = 1_999;
    },
    /b-done has granted the row of ann early/,
  ],
  [
    "before its approval",
    (run) => {
      at(run.record.bulkGrants, 0).executeTime = undefined;
      entry(run, 4).createTime = 499;
    },
    /b-done has granted the row of ann early/,
  ],
  [
    "without an approval",
    ({ record }) => at(record.bulkGrants, 0).sent.pop(),
    /b-done has granted 1 rows without an approval/,
  ],
  [
    "after its end",
    (run) => {
      entry(run, 4).createTime = 4_001;
    },
    /b-done has granted the row of ann after its end/,
  ],
  [
    "after a cancel",
    (run) => {
      const event = { origin: "b", eventId: "b-cancelled_ann" } as const;
      ledger(run).push({ ...entry(run, 4), number: 5, event });
    },
    /b-cancelled has a row for ann, which is NOT_RUN, and was granted as 5/,
  ],
  [
    "never run",
    (run) => {
      bulk(run, "b-done").state = "RUNNING";
    },
    /b-done is still RUNNING/,
  ],
  [
    "approved, due and not run",
    (run) => {
      bulk(run, "b-done").state = "APPROVED";
    },
    /b-done is still APPROVED/,
  ],
  [
    "an approval that is lost",
    (run) => {
      bulk(run, "b-done").state = "AWAITING_APPROVAL";
    },
    /b-done was approved, and awaits it/,
  ],
  [
    "cancelled by nobody",
    ({ record }) => at(record.bulkGrants, 1).sent.pop(),
    /b-cancelled was cancelled by nobody/,
  ],
  ["a cancel that is lost", cancelled, /b-done was cancelled, and is DONE/],
  [
    "with failures",
    (run) => {
      bulk(run, "b-done").state = "DONE_WITH_FAILURES";
    },
    /b-done is DONE_WITH_FAILURES/,
  ],
  [
    "to a stranger",
    (run) => run.state.ledgers.set("eve", [{ ...entry(run, 4), number: 1, event: rowOfEve }]),
    /b-done has granted points to eve, who has no row/,
  ],
];

test.each(cases)("%s is found", expectFound);

test("a run that has granted its last row when it is cancelled may be done", async () => {
  const run = await recordedRun();
  cancelled(run);
  bulk(run, "b-done").actions = [{ action: "CANCEL" }];
  expect(check(run.record, run.state)).toEqual([]);
});
