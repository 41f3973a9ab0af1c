/** Tests that the tasks of one holder delay no other holder. */
import { expect, test } from "vitest";
import { createRotation } from "../../../src/platform/work/rotation.ts";

test("holders take turns, each with its tasks in order, so many at once", async () => {
  const rotation = createRotation(2);
  const begun: string[] = [];
  const gates: (() => void)[] = [];
  const task = (holder: string, name: string) =>
    rotation(holder, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => void gates.push(resolve));
    });
  const greedy = ["a1", "a2", "a3", "a4"].map((name) => task("a", name));
  const modest = [task("b", "b1"), task("c", "c1")];
  expect(begun).toEqual(["a1", "a2"].slice(0, begun.length));
  for (let i = 0; i < 6; i += 1) {
    while (gates.length === 0) await new Promise(setImmediate);
    expect(gates.length).toBeLessThanOrEqual(2);
    gates.shift()?.();
  }
  await Promise.all([...greedy, ...modest]);
  expect(begun).toEqual(["a1", "a2", "a3", "b1", "c1", "a4"]);
});

test("a task that fails gives its place to the next one", async () => {
  const rotation = createRotation(1);
  const failed = rotation("a", () => Promise.reject(new Error("no")));
  const next = rotation("a", async () => "done");
  await expect(failed).rejects.toThrow("no");
  expect(await next).toBe("done");
});
