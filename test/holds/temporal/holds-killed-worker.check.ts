/** Tests that a hold ends at its time although the worker of its run was killed. */
import { expect, test } from "vitest";
import { holdAndBegin, holdReaches } from "../../support/fixtures/holds.ts";
import { showsDetails } from "../../support/fixtures/operators.ts";
import { verified } from "../../support/fixtures/reservations.ts";
import { startWorkerStack } from "../../support/servers/worker.ts";

test("a hold whose worker is killed at its time goes on with another one", async () => {
  const stack = await startWorkerStack({ store: "dynamodb", worker: false });
  try {
    const killed = await stack.startWorkerProcess();
    const handle = await holdAndBegin(stack, "killed", 3_000);
    await showsDetails(handle, "Held until");
    await killed.killHard();
    await stack.startWorker();
    const hold = await holdReaches(stack, "killed", "EXPIRED");
    expect(hold.updateTime).toBeGreaterThanOrEqual(hold.until);
    expect(await verified(stack, "killed")).toEqual({ balance: 100, entries: 3 });
    expect(await handle.result()).toMatchObject({ state: "EXPIRED" });
  } finally {
    await stack.stop();
  }
});
