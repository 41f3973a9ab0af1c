/** Tests the checks of a run: on a run that is right, and on programs that are wrong. */
import { expect, test } from "vitest";
import { check } from "./check.ts";
import { at, entry, found, ledger, recordedRun, refused, unanswered } from "./recorded-run.ts";
import { type Case, expectFound } from "./spoiled-run.ts";

test("a recorded run that is right passes", async () => {
  const { record, state } = await recordedRun();
  expect(check(record, state)).toEqual([]);
});

test("a change without an answer may have been made or not", async () => {
  const run = await recordedRun();
  const move = { op: "move", executeTime: 1_500 } as const;
  at(run.record.reservations, 0).sent.splice(1, 0, { request: move, attempts: [unanswered(45)] });
  const event = { origin: "c", eventId: "n" } as const;
  ledger(run).push({ ...entry(run, 1), number: 5, event });
  run.state.reservations.set("unknown", {
    ...found(run.state.reservations.get("cancelled")),
    points: 9,
    state: "PENDING",
    executeTime: 1_000,
  });
  run.state.time = 999;
  at(run.record.programs, 0).sent[1] = {
    request: { op: "lengthen", months: 24 },
    attempts: [unanswered(20)],
  };
  expect(check(run.record, run.state)).toEqual([]);
  found(run.state.programs.get("p")).lifetimes.pop();
  expect(check(run.record, run.state)).toEqual([]);
});

const cases: Case[] = [
  [
    "a lost lengthening",
    ({ state }) => found(state.programs.get("p")).lifetimes.pop(),
    /program p was to have 24 months, and has 12/,
  ],
  ["lost", ({ state }) => state.programs.delete("p"), /was to have 24 months, and has undefined/],
  [
    "refused",
    ({ record }) => {
      at(at(record.programs, 0).sent, 1).attempts = [refused(1, "WRONG_STATE")];
    },
    /lengthen of the program p was refused/,
  ],
];

test.each(cases)("of programs, %s is found", expectFound);
