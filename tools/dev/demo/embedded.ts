/** Starts the demo's own stack, whose data is in memory or in a temporary folder. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, Connection } from "@temporalio/client";
import { createMeguri } from "../../../packages/client/src/index.ts";
import { createWorkflowLinks } from "../../../src/platform/temporal/links.ts";
import { bundleWorkflows } from "../../../src/worker/bundle.ts";
import type { Child } from "../stack/child.ts";
import { SHORT_RUN_JAVA_OPTIONS, startDynamoDbLocal } from "../stack/dynamodb-local.ts";
import { findPorts } from "../stack/free-port.ts";
import { runToEnd, startService } from "../stack/service.ts";
import { startTemporal } from "../stack/temporal-dev-server.ts";

export type Embedded = Awaited<ReturnType<typeof startEmbedded>>;

const taskQueue = "demo";
/** Of a sheet: slow enough to kill the worker in the middle. */
export const rowsPerSecond = 10;
/** Long enough for a machine that is busy with other things. */
const timeoutMs = 120_000;

/** Starts store, Temporal and all processes under the test clock, and connects to them. */
export async function startEmbedded(say: (line: string) => void) {
  const folder = await mkdtemp(join(tmpdir(), "meguri-demo-"));
  const stops: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true })];
  const stop = async () => {
    for (const end of stops.splice(0).reverse()) await end();
  };
  try {
    process.env.JAVA_TOOL_OPTIONS ??= SHORT_RUN_JAVA_OPTIONS;
    const dynamodb = await startDynamoDbLocal({ onProgress: say });
    stops.push(dynamodb.stop);
    say(`DynamoDB Local at ${dynamodb.endpoint}`);
    const temporal = await startTemporal({
      ui: true,
      ignoreRunning: true,
      dataFile: join(folder, "temporal.db"),
      onProgress: say,
    });
    stops.push(temporal.stop);
    say(`Temporal at ${temporal.address}, Web UI at ${temporal.uiUrl}`);

    const [port, http1Port, metricsPort] = await findPorts(0, 0, 0);
    const env = {
      MEGURI_DYNAMODB_ENDPOINT: dynamodb.endpoint,
      MEGURI_TEMPORAL_ADDRESS: temporal.address,
      MEGURI_TEMPORAL_NAMESPACE: temporal.namespace,
      MEGURI_TASK_QUEUE: taskQueue,
      // Built once, because workers are started several times.
      MEGURI_WORKFLOW_BUNDLE: await writeBundle(join(folder, "workflows.js")),
      MEGURI_BULK_ROWS_PER_SECOND: String(rowsPerSecond),
      MEGURI_PORT: String(port),
      MEGURI_HTTP1_PORT: String(http1Port),
      MEGURI_METRICS_PORT: String(metricsPort),
      MEGURI_OPERATORS_PORT: "0",
      MEGURI_EVENTS_PORT: "0",
      MEGURI_LOG_LEVEL: "info",
      MEGURI_TEST_CLOCK: "1",
    };
    const part = (name: string) => ({ name, entry: `src/${name}.ts`, env });
    await runToEnd(part("ops/setup"));
    const events = await startService(part("events"));
    stops.push(events.stop);
    const server = await startService(part("server"));
    stops.push(server.stop);
    let worker: Child = await startService(part("worker"));
    stops.push(() => worker.stop());
    const url = `http://127.0.0.1:${port}`;
    say(`server at ${url}, worker with process id ${worker.pid}`);

    const connection = await Connection.connect({ address: temporal.address });
    stops.push(() => connection.close());
    const callAs = (caller: string) => {
      const client = createMeguri({ url, caller, timeoutMs });
      stops.push(async () => client.close());
      return client;
    };
    const { uiUrl = "", namespace } = temporal;
    return {
      ...callAs("demo"),
      /** Clients that call as another service. */
      callAs,
      temporal: new Client({ connection, namespace }),
      taskQueue,
      uiUrl,
      /** The address of a workflow in the Web UI. */
      linkTo: createWorkflowLinks(uiUrl, namespace).toWorkflow,
      killWorker: () => worker.killHard(),
      restartWorker: async () => {
        worker = await startService(part("worker"));
        return worker.pid;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function writeBundle(file: string): Promise<string> {
  await writeFile(file, (await bundleWorkflows()).code);
  return file;
}
