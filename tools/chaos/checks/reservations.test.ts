/** Tests that wrong reservations are found in a recorded run. */
import { test } from "vitest";
import { answered, at, entry, found, ledger, type Run, refused } from "./recorded-run.ts";
import { type Case, expectFound } from "./spoiled-run.ts";

const stored = ({ state }: Run, id: string) => found(state.reservations.get(id));
const reservation = ({ record }: Run, id: string) =>
  found(record.reservations.find((each) => each.id === id));

const cases: Case[] = [
  [
    "lost",
    ({ state }) => state.reservations.delete("cancelled"),
    /reservation cancelled was acknowledged, and is lost/,
  ],
  ["never granted", (run) => grantNever(run), /reservation done is due, and was never granted/],
  [
    "without its entry",
    (run) => ledger(run).splice(2, 1),
    /reservation done is DONE, and has no entry/,
  ],
  [
    "doubled",
    (run) => ledger(run).push({ ...entry(run, 3), number: 5 }),
    /reservation done was granted 2 times, as entries 3, 5/,
  ],
  [
    "another number than its record has",
    (run) => {
      found(stored(run, "done").grant).entryNumber = 2;
    },
    /reservation done is entry 2 by its record, and 3 by the ledger/,
  ],
  [
    "early",
    (run) => {
      entry(run, 3).createTime = 1_999;
    },
    /reservation done was granted 1 ms early/,
  ],
  [
    "a move that is lost",
    (run) => {
      stored(run, "done").executeTime = 1_000;
    },
    /reservation done is due at 1000, and was moved to 2000/,
  ],
  [
    "granted after a cancel",
    (run) => {
      const event = { origin: "r", eventId: "cancelled" } as const;
      ledger(run).push({ ...entry(run, 3), points: 8, number: 5, event });
    },
    /reservation cancelled is CANCELLED, and was granted as 5/,
  ],
  [
    "a cancel that is lost",
    (run) => {
      stored(run, "cancelled").state = "DONE";
    },
    /reservation cancelled was cancelled, and is DONE/,
  ],
  [
    "a cancel that was not accepted",
    (run) => {
      at(reservation(run, "cancelled").sent, 1).attempts = [refused(50, "WRONG_STATE")];
    },
    /reservation cancelled is CANCELLED, and no cancel was accepted/,
  ],
  [
    "a cancel that was refused too early",
    (run) => {
      const { sent } = reservation(run, "cancelled");
      at(sent, 1).attempts = [refused(50, "WRONG_STATE")];
      Object.assign(stored(run, "cancelled"), { state: "PENDING", executeTime: 200_000 });
    },
    /reservation cancelled is PENDING, and a change of it was refused/,
  ],
  [
    "refused, but there",
    (run) => {
      at(reservation(run, "done").sent, 0).attempts = [refused(40, "PROGRAM_NOT_FOUND")];
    },
    /reservation done was refused, and is there/,
  ],
  [
    "granted without a record",
    (run) => {
      entry(run, 3).event = { origin: "r", eventId: "unknown" };
    },
    /reservation unknown was granted, and is not there/,
  ],
  [
    "sent by nobody",
    (run) => {
      entry(run, 3).event = { origin: "r", eventId: "other" };
    },
    /reservation other was granted, and nobody has sent it/,
  ],
  [
    "another time than was asked for",
    (run) => {
      const { answer } = at(at(reservation(run, "done").sent, 1).attempts, 0);
      found(answer).executeTime = 1_000;
    },
    /reservation done was to be due at 2000, and was answered as due at 1000/,
  ],
  [
    "of other points",
    (run) => {
      stored(run, "done").points = 6;
    },
    /reservation done is of 6 points for ann/,
  ],
  [
    "a change of the points that is lost",
    (run) => {
      changePoints(run, 6);
    },
    /reservation done is of 7 points for ann/,
  ],
  [
    "other points than were requested",
    (run) => {
      changePoints(run, 5);
    },
    /reservation done was to be of 6 points, and was answered as of 5 points/,
  ],
  [
    "granted with other points than it has",
    (run) => {
      entry(run, 3).points = 6;
    },
    /reservation done is entry 3 by its record, and 3 by the ledger/,
  ],
];

test.each(cases)("%s is found", expectFound);

/** Adds an acknowledged change to 6 points. */
function changePoints(run: Run, points: number): void {
  const answer = { state: "PENDING", points, executeTime: 2_000 };
  const change = {
    request: { op: "points", points: 6 } as const,
    attempts: [answered(65, answer)],
  };
  reservation(run, "done").sent.splice(2, 0, change);
}

function grantNever(run: Run): void {
  ledger(run).splice(2, 1);
  stored(run, "done").state = "PENDING";
}
