/** Tests that a subscription goes on when nobody knows whether its position was stored. */
import { expect, test } from "vitest";
import { createProgress } from "../../../src/events/use-cases/subscription-progress.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

const at = (number: number) => ({ logId: "log", number, index: 0 });

test("a write without a clear result may have been made, or not", async () => {
  const memory = memoryDeps();
  const one = createProgress(memory.process(), "orders");
  const other = createProgress(memory.process(), "orders");
  await one.load();
  await one.save(at(1));
  memory.store.arriving = ({ op }) => (op === "commit" ? "unavailable" : undefined);
  await expect(one.save(at(2))).rejects.toThrow();
  memory.store.arriving = undefined;
  expect(await one.save(at(3))).toBe(true);
  expect(await other.load()).toEqual(at(3));
});
