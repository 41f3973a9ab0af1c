/** Starts the demo's own stack, whose data is in memory or in a temporary folder. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Client, Connection } from "@temporalio/client";
import { PointsService } from "../../gen/meguri/points/v1/points_service_pb.ts";
import { ProgramService } from "../../gen/meguri/programs/v1/program_service_pb.ts";
import { ReservationService } from "../../gen/meguri/reservations/v1/reservation_service_pb.ts";
import { ClockService } from "../../gen/meguri/testing/v1/clock_service_pb.ts";
import type { Child } from "../stack/child.ts";
import { startDynamoDbLocal } from "../stack/dynamodb-local.ts";
import { findPorts } from "../stack/free-port.ts";
import { runToEnd, startService } from "../stack/service.ts";
import { startTemporal } from "../stack/temporal-dev-server.ts";

export type Embedded = Awaited<ReturnType<typeof startEmbedded>>;

const taskQueue = "demo";

/** Starts store, Temporal, server and worker under the test clock, and connects to them. */
export async function startEmbedded(say: (line: string) => void) {
  const folder = await mkdtemp(join(tmpdir(), "meguri-demo-"));
  const stops: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true })];
  const stop = async () => {
    for (const end of stops.splice(0).reverse()) await end();
  };
  try {
    const dynamodb = await startDynamoDbLocal();
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
      MEGURI_PORT: String(port),
      MEGURI_HTTP1_PORT: String(http1Port),
      MEGURI_METRICS_PORT: String(metricsPort),
      MEGURI_OPERATORS_PORT: "0",
      MEGURI_LOG_LEVEL: "info",
      MEGURI_TEST_CLOCK: "1",
    };
    const part = (name: string) => ({ name, entry: `src/${name}.ts`, env });
    await runToEnd(part("ops/setup"));
    const server = await startService(part("server"));
    stops.push(server.stop);
    let worker: Child = await startService(part("worker"));
    stops.push(() => worker.stop());
    say(`server at http://127.0.0.1:${port}, worker with process id ${worker.pid}`);

    const connection = await Connection.connect({ address: temporal.address });
    stops.push(() => connection.close());
    return {
      ...clientsOf(`http://127.0.0.1:${port}`),
      temporal: new Client({ connection, namespace: temporal.namespace }),
      taskQueue,
      uiUrl: temporal.uiUrl ?? "",
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

function clientsOf(baseUrl: string) {
  const setCaller: Interceptor = (next) => (request) => {
    request.header.set("meguri-caller", "demo");
    return next(request);
  };
  const transport = createGrpcTransport({ baseUrl, interceptors: [setCaller] });
  return {
    programs: createClient(ProgramService, transport),
    points: createClient(PointsService, transport),
    reservations: createClient(ReservationService, transport),
    clock: createClient(ClockService, transport),
  };
}
