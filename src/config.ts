import { z } from "zod";

const port = z.coerce.number().int().min(0).max(65_535);
const flag = z.enum(["0", "1"]).transform((value) => value === "1");

/** Every variable that server, worker and tools read; the README has the same table. */
const variables = z
  .object({
    NODE_ENV: z.string().default("development"),
    MEGURI_HOST: z.enum(["127.0.0.1", "::1", "localhost"]).default("127.0.0.1"),
    MEGURI_PORT: port.default(8080),
    MEGURI_HTTP1_PORT: port.default(8081),
    MEGURI_METRICS_PORT: port.default(8082),
    MEGURI_DYNAMODB_ENDPOINT: z.url().optional(),
    MEGURI_TABLE_PREFIX: z
      .string()
      .regex(/^[A-Za-z0-9_.-]{0,64}$/)
      .default("meguri-"),
    AWS_REGION: z.string().min(1).default("ap-northeast-1"),
    MEGURI_TEMPORAL_ADDRESS: z.string().min(1).default("127.0.0.1:7233"),
    MEGURI_TEMPORAL_NAMESPACE: z.string().min(1).default("default"),
    MEGURI_TASK_QUEUE: z.string().min(1).default("meguri"),
    MEGURI_WORKFLOW_BUNDLE: z.string().min(1).optional(),
    MEGURI_HISTORY_DAYS: z.coerce.number().int().min(1).max(3_650).default(90),
    MEGURI_MAX_STREAMS: z.coerce.number().int().min(1).default(10_000),
    MEGURI_DRAIN_SECONDS: z.coerce.number().min(0).max(600).default(20),
    MEGURI_LOG_LEVEL: z.enum(["debug", "info", "warn", "error", "silent"]).default("info"),
    MEGURI_TEST_CLOCK: flag.default(false),
  })
  .refine((env) => !(env.MEGURI_TEST_CLOCK && env.NODE_ENV === "production"), {
    error: "the test clock is not for production",
    path: ["MEGURI_TEST_CLOCK"],
  });

/** How one process is set up. Port 0 means any free one. */
export interface Config {
  readonly host: string;
  readonly port: number;
  readonly http1Port: number;
  readonly metricsPort: number;
  /** Absent: AWS itself. */
  readonly dynamoEndpoint: string | undefined;
  readonly region: string;
  readonly tablePrefix: string;
  readonly temporalAddress: string;
  readonly temporalNamespace: string;
  readonly taskQueue: string;
  /** A prebuilt workflow bundle. Absent: it is built at start. */
  readonly workflowBundle: string | undefined;
  /** How long a read notification is kept. */
  readonly historyDays: number;
  /** Streams of unread counts that one server has at a time. */
  readonly maxStreams: number;
  readonly drainSeconds: number;
  readonly logLevel: string;
  readonly testClock: boolean;
}

/** Reads the configuration. Throws an error that names every variable that is wrong. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const parsed = variables.safeParse(env);
  if (!parsed.success) throw new Error(`configuration: ${z.prettifyError(parsed.error)}`);
  const { data } = parsed;
  return {
    host: data.MEGURI_HOST,
    port: data.MEGURI_PORT,
    http1Port: data.MEGURI_HTTP1_PORT,
    metricsPort: data.MEGURI_METRICS_PORT,
    dynamoEndpoint: data.MEGURI_DYNAMODB_ENDPOINT,
    region: data.AWS_REGION,
    tablePrefix: data.MEGURI_TABLE_PREFIX,
    temporalAddress: data.MEGURI_TEMPORAL_ADDRESS,
    temporalNamespace: data.MEGURI_TEMPORAL_NAMESPACE,
    taskQueue: data.MEGURI_TASK_QUEUE,
    workflowBundle: data.MEGURI_WORKFLOW_BUNDLE,
    historyDays: data.MEGURI_HISTORY_DAYS,
    maxStreams: data.MEGURI_MAX_STREAMS,
    drainSeconds: data.MEGURI_DRAIN_SECONDS,
    logLevel: data.MEGURI_LOG_LEVEL,
    testClock: data.MEGURI_TEST_CLOCK,
  };
}
