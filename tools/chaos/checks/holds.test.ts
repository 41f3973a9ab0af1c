/** Tests that wrong holds and extensions are found in a recorded run. */
import { test } from "vitest";
import { answered, at, entry, found, ledger, type Run, refused } from "./recorded-run.ts";
import { type Case, expectFound } from "./spoiled-run.ts";

const stored = ({ state }: Run, id: string) => found(state.holds.get(id));
const sent = ({ record }: Run, id: string) =>
  found([...record.points, ...record.holds].find(({ operation }) => operation.id === id));

const cases: Case[] = [
  [
    "a lost hold",
    ({ state }) => state.holds.delete("h-4"),
    /hold h-4 of bob has entry 11 of 6 points, and no record/,
  ],
  [
    "a hold without its entry",
    (run) => ledger(run, "bob").pop(),
    /h-4 of bob was acknowledged, and has no entry/,
  ],
  [
    "a record without its entry",
    (run) => ledger(run, "bob").pop(),
    /hold h-4 of bob has entry 11 of 6 points by its record, and no entries by the ledger/,
  ],
  [
    "a capture that its record does not have",
    (run) => stored(run, "h-1").captures.shift(),
    /hold h-1 of bob has entry 3 .* by its record, and .* entry 4 of 10 points/,
  ],
  [
    "a capture that is doubled",
    (run) => ledger(run, "bob").push({ ...entry(run, 4, "bob"), number: 12 }),
    /k-1 of bob was done 2 times, as entries 4, 12/,
  ],
  [
    "a hold that is captured beyond its points",
    (run) => {
      entry(run, 5, "bob").points = 25;
    },
    /20 points more than h:h-1 of bob has are reversed/,
  ],
  [
    "a hold that is released by its timeout and by a call",
    (run) => {
      const { event } = entry(run, 10, "bob");
      ledger(run, "bob").push({ ...entry(run, 8, "bob"), number: 12, event });
    },
    /hold h-3 of bob has .* by its record, and .* entry 12 of 20 points by the ledger/,
  ],
  [
    "a release that was acknowledged, of a hold that has timed out",
    (run) => {
      entry(run, 8, "bob").reason = "";
    },
    /l-2 of bob was acknowledged, and has no entry/,
  ],
  [
    "a release that nobody has sent",
    (run) => {
      entry(run, 8, "bob").reason = "l-9";
    },
    /entry 8 of bob is h:h-2\/release, which nobody has sent/,
  ],
  [
    "another state than the ledger leads to",
    (run) => {
      stored(run, "h-3").state = "RELEASED";
    },
    /hold h-3 of bob is RELEASED by its record, and EXPIRED by the ledger/,
  ],
  [
    "a hold that was never released",
    (run) => {
      stored(run, "h-4").until = 40_000;
    },
    /hold h-4 of bob is due, and was never released/,
  ],
  [
    "another time than was sent",
    (run) => {
      stored(run, "h-4").until = 500_001;
    },
    /hold h-4 of bob is until 500001 for bob, and not until 500000/,
  ],
  [
    "a timeout that came early",
    (run) => {
      stored(run, "h-3").updateTime = 99;
    },
    /hold h-3 of bob has timed out 1 ms early/,
  ],
  [
    "a refund that the record of its hold does not count",
    (run) => {
      const relatedEvent = { origin: "h", eventId: "h-1/capture/k-1" } as const;
      const event = { origin: "c", eventId: "f" } as const;
      const refund = { number: 12, type: "REFUNDED", points: 4, event, relatedEvent } as const;
      ledger(run, "bob").push({ ...entry(run, 11, "bob"), ...refund });
    },
    /hold h-1 of bob has 0 points of k-1 refunded by its record, and 4 by the ledger/,
  ],
  [
    "an account that holds more than its open holds",
    ({ state }) => state.heldPoints.set("bob", 7),
    /bob holds 7 points, and open holds have 6/,
  ],
  [
    "a capture that was refused while points were left",
    (run) => {
      sent(run, "k-3").attempts = [refused(1, "WRONG_STATE")];
    },
    /k-3 was refused: WRONG_STATE/,
  ],
  [
    "a capture that was refused with a wrong rest",
    (run) => {
      sent(run, "k-3").attempts = [refused(33, "LIMIT_EXCEEDED", { capturable_points: "31" })];
    },
    /k-3 was refused: LIMIT_EXCEEDED/,
  ],
  [
    "a hold that was not found after it was made",
    (run) => {
      sent(run, "l-0").attempts = [refused(120, "HOLD_NOT_FOUND")];
    },
    /l-0 was refused: HOLD_NOT_FOUND/,
  ],
  [
    "a lost extension",
    (run) => ledger(run, "bob").splice(1, 1),
    /be of bob was acknowledged, and has no entry/,
  ],
  [
    "a doubled extension",
    (run) => ledger(run, "bob").push({ ...entry(run, 2, "bob"), number: 12 }),
    /be of bob was done 2 times, as entries 2, 12/,
  ],
  [
    "an extension of more points than its grant has",
    (run) => {
      entry(run, 2, "bob").points = 61;
    },
    /1 points more than c:bg of bob has are reversed/,
  ],
  [
    "other months than were answered",
    (run) => {
      const { answer } = at(sent(run, "be").attempts, 1);
      found(answer).entry.changes = [];
    },
    /be of bob was answered entry 2/,
  ],
  [
    "an extension that was refused for no reason",
    (run) => {
      sent(run, "bx").operation.reverses = "bg";
      sent(run, "bx").attempts = [refused(120, "LIMIT_EXCEEDED")];
    },
    /bx was refused: LIMIT_EXCEEDED/,
  ],
  [
    "an extension that was acknowledged with another entry",
    (run) => {
      sent(run, "bx").attempts = [answered(25, found(at(sent(run, "be").attempts, 1).answer))];
    },
    /bx of bob was acknowledged, and has no entry/,
  ],
];

test.each(cases)("%s is found", expectFound);
