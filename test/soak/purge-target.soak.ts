/** Tests purges of deleted targets whose worker is killed, and while Temporal is away. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pendingPurgeRef } from "../../src/feed/ports/records.ts";
import { react } from "../../src/feed/use-cases/reactions/commands.ts";
import { deleteTarget } from "../../src/feed/use-cases/reactions/targets.ts";
import type { TargetName } from "../../src/platform/words/target-name.ts";
import type { Child } from "../../tools/dev/stack/child.ts";
import { startTemporal, type Temporal } from "../../tools/dev/stack/temporal-dev-server.ts";
import {
  afterDelete,
  expectPurged,
  purged,
  runOf,
  stored,
  twoTargets,
  unreadOf,
  unreadOfOne,
} from "../support/fixtures/purges.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

describe("a purge whose worker is killed", () => {
  let stack: WorkerStack;
  let worker: Child | undefined;
  beforeAll(async () => {
    stack = await startWorkerStack({ store: "proxied dynamodb", worker: false });
  });
  afterAll(async () => {
    await worker?.stop();
    await stack.stop();
  });

  test("half-way is completed by another worker", async () => {
    const targets = await twoTargets(stack, "killed");
    await deleteTarget(stack.deps, { target: targets.deleted });
    const half = Promise.withResolvers<void>();
    let writes = 0;
    stack.proxy.onRequest((operation) => {
      if (operation === "BatchWriteItem" && ++writes === 3) half.resolve();
    });
    stack.proxy.faults({ delay: 1, delayMs: [1_000, 1_000], operations: ["BatchWriteItem"] });
    worker = await stack.startWorkerProcess();
    await half.promise;
    await worker.killHard();
    expect(await stored(stack, "killed", targets.deleted)).not.toEqual(purged);
    stack.proxy.onRequest(undefined);
    stack.proxy.faults({});
    worker = await stack.startWorkerProcess();
    await expectPurged(stack, "killed", targets);
  });
});

describe("while Temporal is away", () => {
  let folder: string;
  let temporal: Temporal;
  let stack: WorkerStack;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "meguri-temporal-"));
    temporal = await startTemporal({ ignoreRunning: true, dataFile: join(folder, "data.db") });
    stack = await startWorkerStack({
      store: "proxied dynamodb",
      temporalAddress: temporal.address,
      worker: false,
    });
  });
  afterAll(async () => {
    await stack.stop();
    await temporal.stop();
    await rm(folder, { recursive: true });
  });

  test("a target is deleted, and the reconciler later starts its purge", async () => {
    const { deps, client, config } = stack;
    const targets = await twoTargets(stack, "patient");
    const { deleted: target } = targets;
    await temporal.killHard();
    // The server ends before its background task has reached Temporal.
    await deleteTarget({ ...deps, background: () => {} }, { target });
    expect(await unreadOf(stack, "patient")).toEqual(unreadOfOne);
    expect(await stored(stack, "patient", target)).toEqual(afterDelete);
    const late = { target, kind: "like", userId: "late", displayName: "Late" };
    await expect(react(deps, late)).rejects.toMatchObject({ reason: "TARGET_DELETED" });
    await age(stack, target);
    const port = Number(temporal.address.split(":")[1]);
    const dataFile = join(folder, "data.db");
    temporal = await startTemporal({ ignoreRunning: true, port, dataFile });
    await stack.startWorker();
    const reconciler = await eventually(() =>
      client.workflow.start("reconciler", {
        workflowId: "reconciler",
        taskQueue: config.taskQueue,
        args: [{}],
        workflowIdConflictPolicy: "USE_EXISTING",
      }),
    );
    await eventually(() => runOf(stack, target).describe());
    await expectPurged(stack, "patient", targets);
    await reconciler.terminate();
  });
});

/** Makes a pending purge older than the time after which the reconciler starts it. */
async function age({ deps }: WorkerStack, target: TargetName): Promise<void> {
  const ref = pendingPurgeRef(target);
  await deps.engine.transact({
    key: ref,
    readSet: [ref],
    expectAbsent: [],
    call: undefined,
    decide(tx) {
      const pending = tx.get(ref);
      if (!pending) expect.unreachable("no purge is pending");
      tx.put(ref, { ...pending, deleteTime: pending.deleteTime - 11_000 });
    },
  });
}
