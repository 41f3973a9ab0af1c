/**
 * `npm run dev`: DynamoDB Local, Temporal with its Web UI, the server, a worker and an events
 * process in one terminal. Data stays under `.data/`, which only one stack can open at a time.
 * Ctrl-C stops all processes in the reverse order of their start.
 */
import { mkdir } from "node:fs/promises";
import { startDynamoDbLocal } from "./stack/dynamodb-local.ts";
import { findPorts, retryLostPorts } from "./stack/free-port.ts";
import { lock } from "./stack/lock.ts";
import { runToEnd, startService } from "./stack/service.ts";
import { startTemporal } from "./stack/temporal-dev-server.ts";

/** The preferred ports. For an occupied one, the next free port above it is used. */
const PORTS = {
  dynamodb: 8000,
  temporal: 7233,
  temporalUi: 8233,
  grpc: 8080,
  http1: 8081,
  metrics: 8082,
  events: 8084,
};
/** Relative, because the path of a Unix socket is short; npm runs scripts in the project's root. */
const DATA_DIR = ".data";
const NAME_WIDTH = 9;

type Part = {
  readonly name: string;
  readonly exited: Promise<string>;
  stop(): Promise<void>;
};

const parts: Part[] = [];
let unlock: (() => void) | undefined;
let ending = false;

process.on("SIGINT", () => void end("stopping", 0));
process.on("SIGTERM", () => void end("stopping", 0));
process.on("SIGHUP", () => void end("stopping", 0));
try {
  await start();
} catch (error) {
  await end(error instanceof Error ? error.message : String(error), 1);
}

async function start(): Promise<void> {
  const [grpcPort, http1Port, metrics, events] = await findPorts(
    Number(process.env.MEGURI_PORT || PORTS.grpc),
    Number(process.env.MEGURI_HTTP1_PORT || PORTS.http1),
    Number(process.env.MEGURI_METRICS_PORT || PORTS.metrics),
    Number(process.env.MEGURI_EVENTS_PORT || PORTS.events),
  );
  const address = `http://127.0.0.1:${grpcPort}`;
  await mkdir(DATA_DIR, { recursive: true });
  unlock = await lock(`${DATA_DIR}/dev.sock`, address);

  const dynamodb = await retryLostPorts(async () => {
    const [port] = await findPorts(PORTS.dynamodb);
    const onProgress = (line: string) => say("dynamodb", line);
    return startDynamoDbLocal({ port, dataDir: `${DATA_DIR}/dynamodb`, onProgress });
  });
  addPart({ name: "dynamodb", ...dynamodb });
  say("dynamodb", `DynamoDB Local at ${dynamodb.endpoint}`);

  const temporal = await retryLostPorts(async () => {
    const [port, ui] = await findPorts(PORTS.temporal, PORTS.temporalUi);
    const onProgress = (line: string) => say("temporal", line);
    return startTemporal({ port, ui, dataFile: `${DATA_DIR}/temporal/temporal.db`, onProgress });
  });
  addPart({ name: "temporal", ...temporal });
  const web = temporal.uiUrl === undefined ? "" : `, Web UI at ${temporal.uiUrl}`;
  say("temporal", `Temporal at ${temporal.address}${web}`);

  const env = {
    MEGURI_DYNAMODB_ENDPOINT: dynamodb.endpoint,
    MEGURI_TEMPORAL_ADDRESS: temporal.address,
    MEGURI_TEMPORAL_NAMESPACE: temporal.namespace,
    MEGURI_PORT: String(grpcPort),
    MEGURI_HTTP1_PORT: String(http1Port),
    MEGURI_METRICS_PORT: String(metrics),
    MEGURI_EVENTS_PORT: String(events),
    MEGURI_OPERATORS_PORT: process.env.MEGURI_OPERATORS_PORT || "0",
  };
  await runToEnd(service("setup", "src/ops/setup.ts", env));
  addPart(await startService(service("events", "src/events.ts", env)));
  addPart(await startService(service("server", "src/server.ts", env)));
  addPart(await startService(service("worker", "src/worker.ts", env)));
  say("meguri", `gRPC and Connect at ${address}, HTTP/1.1 on ${http1Port}`);
  if (temporal.uiUrl !== undefined) say("meguri", `the Web UI is at ${temporal.uiUrl}`);
  say("meguri", "all of it runs; Ctrl-C stops it");
}

function service(name: string, entry: string, env: Record<string, string>) {
  return { name, entry, env, onLine: (line: string) => say(name, readable(line)) };
}

/** Adds a part to be stopped at the end. When it exits by itself, everything is stopped. */
function addPart(part: Part): void {
  parts.push(part);
  void part.exited.then((why) => end(`${part.name} ended by itself (${why})`, 1));
}

/** Stops all parts in reverse order. A part that has not started yet ends with this process. */
async function end(why: string, exitCode: number): Promise<void> {
  if (ending) return;
  ending = true;
  say("meguri", why);
  for (const part of parts.reverse()) {
    await part.stop();
    say(part.name, "stopped");
  }
  unlock?.();
  process.exit(exitCode);
}

/** Formats a JSON log line as `message key=value …`, and leaves other lines as they are. */
function readable(line: string): string {
  try {
    const { level, time, pid, hostname, msg, ...rest } = JSON.parse(line);
    const details = Object.entries(rest).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
    return [level >= 50 ? "ERROR" : level >= 40 ? "WARN" : "", msg, ...details]
      .filter(Boolean)
      .join(" ");
  } catch {
    return line;
  }
}

function say(name: string, text: string): void {
  for (const line of text.split("\n")) {
    process.stdout.write(`${name.padEnd(NAME_WIDTH)}│ ${line}\n`);
  }
}
