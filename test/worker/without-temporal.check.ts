/** Tests that a worker process grants what is overdue while Temporal is away, and then ends. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectGrantedOnce, reserve } from "../support/fixtures/reservations.ts";
import { startTcpProxy, type TcpProxy } from "../support/servers/tcp-proxy.ts";
import { startWorkerStack, type WorkerStack, withoutTemporal } from "../support/servers/worker.ts";

let stack: WorkerStack;
let proxy: TcpProxy;
beforeAll(async () => {
  stack = await startWorkerStack({ store: "dynamodb", worker: false });
  proxy = await startTcpProxy(Number(stack.config.temporalAddress.split(":")[1]));
});
afterAll(async () => {
  await proxy?.stop();
  await stack?.stop();
});

/** Reserves what nobody tells Temporal, and expects that it is granted all the same. */
async function isGranted(id: string): Promise<void> {
  await reserve(withoutTemporal(stack.deps), stack.programId, { id, inMs: 0 });
  await expectGrantedOnce(stack, id);
}

test("before it has reached Temporal, and after it has lost it", async () => {
  proxy.cut();
  const starting = stack.startWorkerProcess({ MEGURI_TEMPORAL_ADDRESS: `127.0.0.1:${proxy.port}` });
  await isGranted("before");
  proxy.restore();
  const worker = await starting;
  proxy.cut();
  await isGranted("after");
  proxy.restore();
  await worker.stop();
  expect(await worker.exited).toBe("exit code 0");
});
