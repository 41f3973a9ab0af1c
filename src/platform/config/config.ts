/** Reads the configuration of all processes and tools from environment variables. */
import { z } from "zod";
import manifest from "../../../package.json" with { type: "json" };
import { accessVariables, isLoopback, readAccess } from "./access.ts";
import { announceVariables, readAnnounce } from "./announce.ts";
import { ConfigError, type Report } from "./config-error.ts";
import { decimal, file, flag, oneOf, port, text, webUrl, whole } from "./fields.ts";
import { type ListeningPorts, reportEqualPorts, reportTakenPorts } from "./ports.ts";
import { readTemporal, temporalVariables } from "./temporal.ts";
import { readTracing, tracingVariables } from "./tracing.ts";
import { isServiceLink, reportUnknown } from "./unknown.ts";

/** Which process reads its variables. `setup` stands for all tools that listen on no port. */
export type ProcessKind = "server" | "worker" | "events" | "setup";

/** The variables that only the server reads. */
const serverVariables = {
  MEGURI_PORT: port.prefault("8080"),
  MEGURI_HTTP1_PORT: port.prefault("8081"),
  MEGURI_OPERATORS_PORT: port.prefault("8083"),
  MEGURI_MAX_STREAMS: whole(1).prefault("10000"),
  ...accessVariables,
};

/** The variables that only the worker reads. */
const workerVariables = {
  MEGURI_METRICS_PORT: port.prefault("8082"),
  MEGURI_WORKFLOW_BUNDLE: file.optional(),
  MEGURI_BUILD_ID: z
    .string()
    .max(255, { error: "has to have 255 characters or less" })
    .prefault(manifest.version),
  MEGURI_BULK_ROWS_PER_SECOND: whole(1).prefault("100"),
  MEGURI_SWEEP_CHANGES_PER_SECOND: whole(100).prefault("500"),
};

/** The variables that only the events process reads. */
const eventsVariables = {
  MEGURI_EVENTS_PORT: port.prefault("8084"),
  MEGURI_EVENT_SUBSCRIPTIONS: file.optional(),
};

/** The variables that only the setup reads. */
const setupVariables = {
  MEGURI_MANAGE_TABLES: flag.prefault("1"),
};

/** The variables of what the events process does not do. */
const featureVariables = {
  MEGURI_TASK_QUEUE: text.prefault("meguri"),
  MEGURI_HISTORY_DAYS: whole(1, 3_650).prefault("90"),
  MEGURI_BULK_SOURCES: file.optional(),
  MEGURI_EXPORT_DESTINATIONS: file.optional(),
  MEGURI_APPROVAL_REMINDER_HOURS: decimal(0.001, 8_760).prefault("24"),
  MEGURI_APPROVAL_EXPIRY_HOURS: decimal(0.001, 8_760).prefault("168"),
  MEGURI_SLACK_WEBHOOK_URL: webUrl.optional(),
  MEGURI_TEMPORAL_UI_URL: webUrl.optional(),
};

/** Every variable with its default, as docs/run/configuration.md lists them. */
const variables = z.object({
  NODE_ENV: text.prefault("development"),
  MEGURI_HOST: text.prefault("127.0.0.1"),
  ...serverVariables,
  ...workerVariables,
  ...eventsVariables,
  ...setupVariables,
  ...temporalVariables,
  ...announceVariables,
  ...featureVariables,
  ...tracingVariables,
  MEGURI_DYNAMODB_ENDPOINT: webUrl.optional(),
  MEGURI_DYNAMODB_TRANSPORT: oneOf(["thin", "sdk"]).prefault("thin"),
  MEGURI_TABLE_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,64}$/, { error: "has to have 1 to 64 of A-Z, a-z, 0-9, _, . and -" })
    .prefault("meguri-"),
  AWS_REGION: text.prefault("ap-northeast-1"),
  MEGURI_DRAIN_SECONDS: decimal(0, 600).prefault("20"),
  MEGURI_LOG_LEVEL: oneOf(["debug", "info", "warn", "error", "silent"]).prefault("info"),
  MEGURI_TEST_CLOCK: flag.prefault("0"),
});

/** The names of all variables, and the default of each that has one. */
export const defaults: ReadonlyMap<string, string | undefined> = new Map(
  Object.entries(variables.shape).map(([name, schema]) => [
    name,
    schema instanceof z.ZodPrefault ? (schema.def.defaultValue as string) : undefined,
  ]),
);

/** The variables that a process does not read. */
const ignored: Readonly<Record<ProcessKind, readonly string[]>> = {
  server: Object.keys({ ...workerVariables, ...eventsVariables, ...setupVariables }),
  worker: Object.keys({ ...serverVariables, ...eventsVariables, ...setupVariables }),
  events: Object.keys({
    ...serverVariables,
    ...workerVariables,
    ...setupVariables,
    ...temporalVariables,
    ...announceVariables,
    ...featureVariables,
  }),
  setup: Object.keys({
    MEGURI_HOST: undefined,
    ...serverVariables,
    ...workerVariables,
    ...eventsVariables,
  }),
};

/** Whether a process reads a variable. */
export const reads = (kind: ProcessKind, name: string): boolean => !ignored[kind].includes(name);

type Env = z.output<typeof variables>;

/** Turns the variables into configuration. Reports contradictions. */
const toConfig = (env: Env, report: Report) => ({
  ...readAccess(env, report),
  ...readTemporal(env, report),
  announce: readAnnounce(env, report),
  tracing: readTracing(env),
  host: env.MEGURI_HOST,
  port: env.MEGURI_PORT,
  http1Port: env.MEGURI_HTTP1_PORT,
  metricsPort: env.MEGURI_METRICS_PORT,
  operatorsPort: env.MEGURI_OPERATORS_PORT,
  eventsPort: env.MEGURI_EVENTS_PORT,
  /** The JSON file of the subscriptions to which events are delivered. Absent: there are none. */
  eventSubscriptions: env.MEGURI_EVENT_SUBSCRIPTIONS,
  /** Absent: AWS. */
  dynamoEndpoint: env.MEGURI_DYNAMODB_ENDPOINT,
  region: env.AWS_REGION,
  /** How requests of hot paths go to DynamoDB: by the thin transport, or as all others. */
  dynamoTransport: env.MEGURI_DYNAMODB_TRANSPORT,
  tablePrefix: env.MEGURI_TABLE_PREFIX,
  /** Whether the setup creates tables and indexes that are missing, or only compares. */
  manageTables: env.MEGURI_MANAGE_TABLES,
  taskQueue: env.MEGURI_TASK_QUEUE,
  /** A prebuilt workflow bundle. Absent: it is built at start. */
  workflowBundle: env.MEGURI_WORKFLOW_BUNDLE,
  /** Names the code of a worker in the histories of the runs that it works on. */
  buildId: env.MEGURI_BUILD_ID,
  /** How long a read notification is kept. */
  historyDays: env.MEGURI_HISTORY_DAYS,
  /** The most streams of unread counts that one server has open at a time. */
  maxStreams: env.MEGURI_MAX_STREAMS,
  drainSeconds: env.MEGURI_DRAIN_SECONDS,
  /** The JSON file that defines the sources of bulk grants. Absent: there are none. */
  bulkSources: env.MEGURI_BULK_SOURCES,
  /** The JSON file that defines where exports are written. Absent: nowhere. */
  exportDestinations: env.MEGURI_EXPORT_DESTINATIONS,
  /** How many rows of bulk grants one worker executes a second. */
  bulkRowsPerSecond: env.MEGURI_BULK_ROWS_PER_SECOND,
  /** How many changes the sweeps of one worker make a second. */
  sweepChangesPerSecond: env.MEGURI_SWEEP_CHANGES_PER_SECOND,
  /** How long after its submission a bulk grant without approvals is reported again. */
  approvalReminderHours: env.MEGURI_APPROVAL_REMINDER_HOURS,
  /** How long after its submission a bulk grant without approvals is cancelled. */
  approvalExpiryHours: env.MEGURI_APPROVAL_EXPIRY_HOURS,
  /** Where bulk grants are reported. It is a secret. Absent: they are not reported. */
  slackWebhookUrl: env.MEGURI_SLACK_WEBHOOK_URL,
  /** The address of Temporal's Web UI, as people reach it. Absent: it is not known. */
  temporalUiUrl: env.MEGURI_TEMPORAL_UI_URL ?? devServerUi(env),
  logLevel: env.MEGURI_LOG_LEVEL,
  testClock: env.MEGURI_TEST_CLOCK,
});

/** The Web UI of Temporal's dev server, which is beside a Temporal on loopback. */
const devServerUi = ({ MEGURI_TEMPORAL_ADDRESS: address }: Env): string | undefined =>
  isLoopback(address.replace(/:\d+$/, "")) ? "http://127.0.0.1:8233" : undefined;

/** The configuration of one process. */
export type Config = Readonly<ReturnType<typeof toConfig>>;

/** Throws ConfigError with everything that is wrong, but for ports that are taken. */
export function readConfig(env: NodeJS.ProcessEnv, kind: ProcessKind): Config {
  const { config, problems } = parse(env, kind);
  if (problems.size > 0) throw new ConfigError(problems);
  return config;
}

/** Reads what a process needs to start. Throws ConfigError, also for a port that is taken. */
export async function readConfigToStart(
  env: NodeJS.ProcessEnv,
  kind: ProcessKind,
): Promise<Config> {
  const { config, ports, problems, report } = parse(env, kind);
  await reportTakenPorts(config.host, ports, report);
  if (problems.size > 0) throw new ConfigError(problems);
  return config;
}

/**
 * The variables that are set. An empty one is not, because charts write empty values for what
 * nobody has set.
 */
export const setVariables = (env: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && entry[1] !== "" && !isServiceLink(entry[0], entry[1]),
    ),
  );

function parse(env: NodeJS.ProcessEnv, kind: ProcessKind) {
  const given = setVariables(env);
  const problems = new Map<string, string>();
  const add: Report = (name, message) => {
    if (!problems.has(name)) problems.set(name, message);
  };
  for (const name of ignored[kind]) delete given[name];
  for (const { path, message } of variables.safeParse(given).error?.issues ?? []) {
    const name = String(path[0]);
    add(name, message);
    delete given[name];
  }
  const misread = new Set(problems.keys());
  /** Leaves out what may only seem to contradict, because the value of a variable is unknown. */
  const report: Report = (name, message) => {
    const concerned = [name, ...(message.match(/\b(MEGURI|NODE)_\w+/g) ?? [])];
    if (!concerned.some((each) => misread.has(each))) add(name, message);
  };
  const values = variables.parse(given);
  const ports = listeningPorts(values, kind);
  reportUnknown(Object.keys(given), [...defaults.keys()], add);
  reportEqualPorts(ports, report);
  reportContradictions(values, kind, report);
  return { config: toConfig(values, report), ports, problems, report };
}

function listeningPorts(env: Env, kind: ProcessKind): ListeningPorts {
  const { MEGURI_PORT, MEGURI_HTTP1_PORT, MEGURI_OPERATORS_PORT } = env;
  const { MEGURI_METRICS_PORT, MEGURI_EVENTS_PORT } = env;
  switch (kind) {
    case "server":
      return { MEGURI_PORT, MEGURI_HTTP1_PORT, MEGURI_OPERATORS_PORT };
    case "worker":
      return { MEGURI_METRICS_PORT };
    case "events":
      return { MEGURI_EVENTS_PORT };
    case "setup":
      return {};
  }
}

function reportContradictions(env: Env, kind: ProcessKind, report: Report): void {
  if (kind === "server" && env.MEGURI_AUTH === "none" && !isLoopback(env.MEGURI_HOST)) {
    const message = "is not loopback, which MEGURI_AUTH=none needs because it verifies no caller";
    report("MEGURI_HOST", message);
  }
  const { MEGURI_APPROVAL_REMINDER_HOURS: reminder, MEGURI_APPROVAL_EXPIRY_HOURS: expiry } = env;
  if (reminder >= expiry) {
    const message = `is ${reminder}, which is not before MEGURI_APPROVAL_EXPIRY_HOURS=${expiry}`;
    report("MEGURI_APPROVAL_REMINDER_HOURS", message);
  }
  if (env.MEGURI_TEST_CLOCK && env.NODE_ENV === "production") {
    report("MEGURI_TEST_CLOCK", "is not for NODE_ENV=production");
  }
}
