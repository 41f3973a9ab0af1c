/** Tests that one workflow of a program and a kind has the lock, whoever asks at the same time. */
import { expect, test } from "vitest";
import { releaseScanLock, takeScanLock } from "../../../src/points/use-cases/jobs/scan-lock.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

function setUp() {
  const running = new Set<string>();
  const { deps } = memoryDeps();
  const isRunning = async (workflowId: string) => running.has(workflowId);
  const workflows = { ...deps.workflows, isRunning };
  const take = (workflowId: string, programId = "shop", kind = "export-ledger") =>
    takeScanLock({ ...deps, workflows }, { programId, kind, workflowId });
  return { running, take, deps: { ...deps, workflows } };
}

test("of several that ask at once, one has the lock, and the other ones learn which", async () => {
  const { running, take } = setUp();
  const ids = ["a", "b", "c", "d"];
  for (const id of ids) running.add(id);
  const answers = await Promise.all(ids.map((id) => take(id)));
  const [first] = ids.filter((_, i) => answers[i] === undefined);
  expect(answers.filter((answer) => answer !== undefined)).toEqual([first, first, first]);
  expect(await Promise.all(ids.map((id) => take(id)))).toEqual(answers);
});

test("the lock of a workflow that has ended is taken over by one of several", async () => {
  const { running, take } = setUp();
  running.add("a").add("b").add("c");
  expect(await take("a")).toBeUndefined();
  expect(await take("b")).toBe("a");
  running.delete("a");
  const answers = await Promise.all([take("b"), take("c")]);
  expect(answers.filter((answer) => answer === undefined)).toHaveLength(1);
  // As after a reset of its run.
  running.add("a");
  expect(await take("a")).toMatch(/[bc]/);
});

test("a workflow whose step has failed gives up its own lock, and no other one", async () => {
  const { running, take, deps } = setUp();
  running.add("a").add("b");
  expect(await take("a")).toBeUndefined();
  const release = (workflowId: string) =>
    releaseScanLock(deps, { programId: "shop", kind: "export-ledger", workflowId });
  await release("b");
  expect(await take("b")).toBe("a");
  await release("a");
  expect(await take("b")).toBeUndefined();
  expect(await take("a")).toBe("b");
});

test("other programs and the other kind have locks of their own", async () => {
  const { running, take, deps } = setUp();
  running.add("a").add("b");
  expect(await take("a")).toBeUndefined();
  expect(await take("b", "cafe")).toBeUndefined();
  const report = { programId: "shop", kind: "liability-report", workflowId: "b" } as const;
  expect(await takeScanLock(deps, report)).toBeUndefined();
});
