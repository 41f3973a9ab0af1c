/** Tests that waiting for clients and faults has a limit, and says which of them are late. */
import { expect, test } from "vitest";
import { awaitEnds } from "./ends.ts";

const never = new Promise<never>(() => {});

test("all that have ended are awaited", async () => {
  await awaitEnds([{ name: "a", ended: Promise.resolve() }], 60_000);
});

test("those that do not end are named", async () => {
  const all = [
    { name: "a", ended: Promise.resolve() },
    { name: "b", ended: never },
    { name: "c", ended: never },
  ];
  await expect(awaitEnds(all, 100)).rejects.toThrow("not over 0.1 s after the last fault: b, c");
});

test("what fails is thrown at once", async () => {
  const all = [
    { name: "a", ended: Promise.reject(new Error("broken")) },
    { name: "b", ended: never },
  ];
  await expect(awaitEnds(all, 60_000)).rejects.toThrow("broken");
});
