/** Tests what the bundle of the workflows has inside. */
import { readFileSync } from "node:fs";
import { expect, inject, test } from "vitest";

test("it has no calendar, which every run would evaluate anew", () => {
  const bundle = readFileSync(inject("workflowBundle"), "utf8");
  expect(bundle).toContain("./workflows/reservations/reservation.ts");
  expect(bundle).not.toContain("temporal-polyfill");
});
