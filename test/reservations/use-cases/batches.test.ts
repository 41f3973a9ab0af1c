/** Tests that one item of a batch, whatever happens to it, does not stop the others. */
import { expect, test } from "vitest";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { doEach } from "../../../src/reservations/use-cases/batches.ts";

const items = ["a", "refused", "broken", "busy", "z"].map((reservationId) => ({ reservationId }));

const failures: Record<string, Error> = {
  refused: new DomainError("ID_REUSED", "used"),
  broken: new Error("table meguri is gone"),
  busy: new DomainError("CONTENDED", "later"),
};

test("every item has a result in its place, and only unexpected errors are logged", async () => {
  const logged: unknown[] = [];
  const results = await doEach(
    items,
    async ({ reservationId }) => {
      const failure = failures[reservationId];
      if (failure) throw failure;
      return reservationId;
    },
    (reservationId, error) => logged.push([reservationId, error]),
  );
  expect(results).toEqual([
    { done: "a" },
    { error: { reason: "ID_REUSED", message: "used", retryable: false } },
    { error: { reason: "INTERNAL", message: "internal error", retryable: true } },
    { error: { reason: "CONTENDED", message: "later", retryable: true } },
    { done: "z" },
  ]);
  expect(logged).toEqual([["broken", failures.broken]]);
});

test("no more than 20 are done at once", async () => {
  let running = 0;
  let most = 0;
  const many = Array.from({ length: 100 }, (_, i) => ({ reservationId: `r-${i}` }));
  await doEach(
    many,
    async () => {
      most = Math.max(most, ++running);
      await new Promise(setImmediate);
      running -= 1;
    },
    () => undefined,
  );
  expect(most).toBe(20);
});
