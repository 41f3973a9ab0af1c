/** Tests that wrong operations on points, and wrong ledgers, are found in a recorded run. */
import { test } from "vitest";
import { at, entry, found, ledger, refused } from "./recorded-run.ts";
import { type Case, expectFound } from "./spoiled-run.ts";

const cases: Case[] = [
  ["lost", (run) => ledger(run).pop(), /bulk grant b-done .* is GRANTED, and has no entry/],
  ["a lost grant", (run) => ledger(run).shift(), /g of ann was acknowledged, and has no entry/],
  [
    "doubled",
    (run) => ledger(run).push({ ...entry(run, 1), number: 5 }),
    /g of ann was done 2 times, as entries 1, 5/,
  ],
  [
    "without an answer, and doubled",
    (run) => {
      const event = { origin: "c", eventId: "n" } as const;
      for (const number of [5, 6]) ledger(run).push({ ...entry(run, 1), number, event });
    },
    /n of ann was done 2 times/,
  ],
  [
    "refused, but done",
    (run) => {
      const event = { origin: "c", eventId: "r" } as const;
      ledger(run).push({ ...entry(run, 2), number: 5, event });
    },
    /r of ann was refused, and is entry 5/,
  ],
  [
    "refused with a wrong balance",
    ({ record }) => {
      const metadata = { available_points: "31" };
      at(record.points, 2).attempts = [refused(25, "INSUFFICIENT_POINTS", metadata)];
    },
    /r was refused: INSUFFICIENT_POINTS.*balances during the call: 50,30/,
  ],
  [
    "another number than was answered",
    (run) => {
      const { answer } = at(at(run.record.points, 0).attempts, 0);
      found(answer).entry.number = 2;
    },
    /g of ann was answered entry 2, .* and is entry 1/,
  ],
  [
    "made twice by its answers",
    ({ record }) => {
      const { attempts } = at(record.points, 0);
      attempts.push(at(attempts, 0));
    },
    /g of ann was answered twice as not replayed/,
  ],
  [
    "a gap",
    (run) => {
      for (const number of [3, 4]) entry(run, number).number += 1;
    },
    /entry 3 of ann has the number 4/,
  ],
  [
    "an entry that nobody has sent",
    (run) => {
      const event = { origin: "c", eventId: "x" } as const;
      ledger(run).push({ ...entry(run, 1), number: 5, event });
    },
    /entry 5 of ann is c:x, which nobody has sent/,
  ],
  [
    "a balance below zero",
    (run) => {
      entry(run, 4).availablePoints = -1;
    },
    /entry 4 of ann leaves -1/,
  ],
  [
    "an account that is not its ledger",
    ({ state }) => state.differences.push("account ann: 1 is 2"),
    /account ann/,
  ],
  ["a surprise", ({ record }) => record.surprises.push("server 1 ended"), /server 1 ended/],
];

test.each(cases)("%s is found", expectFound);
