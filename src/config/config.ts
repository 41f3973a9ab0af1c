/** Reads the configuration of server, worker and tools from environment variables. */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { accessVariables, flag, readAccess } from "./access.ts";
import { announceVariables, readAnnounce } from "./announce.ts";
import { readTracing, tracingVariables } from "./tracing.ts";

/** Port 0 means any free port. */
const port = z.coerce.number().int().min(0).max(65_535);

const { version } = JSON.parse(readFileSync(`${import.meta.dirname}/../../package.json`, "utf8"));

/** Every variable with its default, as docs/operations.md lists them. */
const variables = z
  .object({
    NODE_ENV: z.string().default("development"),
    ...accessVariables,
    ...announceVariables,
    ...tracingVariables,
    MEGURI_PORT: port.default(8080),
    MEGURI_HTTP1_PORT: port.default(8081),
    MEGURI_METRICS_PORT: port.default(8082),
    MEGURI_OPERATORS_PORT: port.default(8083),
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
    MEGURI_BUILD_ID: z.string().min(1).max(255).default(version),
    MEGURI_HISTORY_DAYS: z.coerce.number().int().min(1).max(3_650).default(90),
    MEGURI_MAX_STREAMS: z.coerce.number().int().min(1).default(10_000),
    MEGURI_DRAIN_SECONDS: z.coerce.number().min(0).max(600).default(20),
    MEGURI_BULK_SOURCES: z.string().min(1).optional(),
    MEGURI_BULK_ROWS_PER_SECOND: z.coerce.number().int().min(1).default(100),
    MEGURI_APPROVAL_REMINDER_HOURS: z.coerce.number().positive().max(8_760).default(24),
    MEGURI_APPROVAL_EXPIRY_HOURS: z.coerce.number().positive().max(8_760).default(168),
    MEGURI_TEMPORAL_APPROVALS: z.string().min(1).optional(),
    MEGURI_SLACK_WEBHOOK_URL: z.url({ protocol: /^https?$/ }).optional(),
    MEGURI_TEMPORAL_UI_URL: z.url({ protocol: /^https?$/ }).default("http://127.0.0.1:8233"),
    MEGURI_LOG_LEVEL: z.enum(["debug", "info", "warn", "error", "silent"]).default("info"),
    MEGURI_TEST_CLOCK: flag.default(false),
  })
  .refine((env) => !(env.MEGURI_TEST_CLOCK && env.NODE_ENV === "production"), {
    error: "the test clock is not for production",
    path: ["MEGURI_TEST_CLOCK"],
  })
  .transform((env, context) => ({
    ...readAccess(env, context),
    announce: readAnnounce(env, context),
    tracing: readTracing(env),
    host: env.MEGURI_HOST,
    port: env.MEGURI_PORT,
    http1Port: env.MEGURI_HTTP1_PORT,
    metricsPort: env.MEGURI_METRICS_PORT,
    operatorsPort: env.MEGURI_OPERATORS_PORT,
    /** Absent: AWS. */
    dynamoEndpoint: env.MEGURI_DYNAMODB_ENDPOINT,
    region: env.AWS_REGION,
    tablePrefix: env.MEGURI_TABLE_PREFIX,
    temporalAddress: env.MEGURI_TEMPORAL_ADDRESS,
    temporalNamespace: env.MEGURI_TEMPORAL_NAMESPACE,
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
    /** How many rows of bulk grants one worker executes a second. */
    bulkRowsPerSecond: env.MEGURI_BULK_ROWS_PER_SECOND,
    /** How long after its submission a bulk grant without approvals is reported again. */
    approvalReminderHours: env.MEGURI_APPROVAL_REMINDER_HOURS,
    /** How long after its submission a bulk grant without approvals is cancelled. */
    approvalExpiryHours: env.MEGURI_APPROVAL_EXPIRY_HOURS,
    /** The JSON file of the people who may approve by an Update. Absent: nobody may. */
    temporalApprovals: env.MEGURI_TEMPORAL_APPROVALS,
    /** Where bulk grants are reported. It is a secret. Absent: they are not reported. */
    slackWebhookUrl: env.MEGURI_SLACK_WEBHOOK_URL,
    /** The address of Temporal's Web UI, as people reach it. */
    temporalUiUrl: env.MEGURI_TEMPORAL_UI_URL,
    logLevel: env.MEGURI_LOG_LEVEL,
    testClock: env.MEGURI_TEST_CLOCK,
  }));

/** The configuration of one process. */
export type Config = Readonly<z.output<typeof variables>>;

/** Throws an error that names every variable with an invalid value. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const parsed = variables.safeParse(env);
  if (!parsed.success) throw new Error(`configuration: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}
