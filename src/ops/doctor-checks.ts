/** The checks of what a server needs: its configuration, the tables, and Temporal. */
import { ScheduleNotFoundError } from "@temporalio/client";
import { composeWorkflows, readSources } from "../compose.ts";
import { type Config, readConfig } from "../platform/config/config.ts";
import { ConfigError } from "../platform/config/config-error.ts";
import {
  type Clients,
  createClients,
  usesLocalCredentials,
} from "../platform/dynamodb/sdk/client.ts";
import { type TableName, tableName } from "../platform/dynamodb/tables.ts";
import { createLogger } from "../platform/observe/log.ts";
import type { Link } from "../platform/temporal/connection.ts";
import { missingSearchAttributes } from "../platform/temporal/search-attributes.ts";
import { defaultProgramId } from "../platform/words/program-ids.ts";
import { monthEndId } from "../points/contract/month-ends.ts";
import { reconcileId } from "../reservations/contract/reconciler.ts";
import { createDynamoReader } from "../store/readers.ts";
import { compareInstallations, InstallationsDiffer } from "../temporal/installation.ts";
import { checkEvents, checkStreams } from "./check-events.ts";
import { CheckFailed } from "./check-failed.ts";
import { definitionsFor } from "./tables/definitions.ts";
import { type Difference, isMendedBySetup, lineOf } from "./tables/differences.ts";
import { compareTables } from "./tables/manage-tables.ts";

export interface Check {
  readonly name: string;
  /** Returns what was found. Throws CheckFailed. */
  run(): Promise<string>;
}

/** No server decides with a clock that is off by more than this. */
const clockToleranceMs = 5_000;

const runSetup = "Run npm run setup with the same variables.";

/** The checks of a server's variables in their order; only the first if a variable is wrong. */
export function serverChecks(env: NodeJS.ProcessEnv): Check[] {
  const configuration = { name: "configuration", run: async () => checkConfiguration(env) };
  let config: Config;
  try {
    config = readConfig(env, "server");
  } catch {
    return [configuration];
  }
  return [
    configuration,
    { name: "tables", run: () => checkTables(config) },
    { name: "temporal", run: () => withTemporal(config, checkTemporal) },
    { name: "installation", run: () => withTemporal(config, checkInstallation) },
    { name: "search attributes", run: () => withTemporal(config, checkSearchAttributes) },
    { name: "schedules", run: () => withTemporal(config, checkSchedules) },
    { name: "streams", run: () => withStore(config, checkStreams) },
    { name: "events", run: () => withStore(config, checkEvents) },
    { name: "reports", run: async () => describeReports(config) },
  ];
}

function checkConfiguration(env: NodeJS.ProcessEnv): string {
  try {
    const config = readConfig(env, "server");
    readSources(config);
    const { dynamoEndpoint, region, tablePrefix } = config;
    const credentials = usesLocalCredentials(dynamoEndpoint) ? "local" : "the SDK's own";
    const where = dynamoEndpoint ?? `AWS in ${region}`;
    return `tables ${tablePrefix}* on ${where}, with ${credentials} credentials`;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const text = [...error.problems].map((problem) => problem.join(" ")).join("; ");
    throw new CheckFailed(text, "Correct the variables; docs/run/configuration.md lists them.");
  }
}

/** Reports and their links are optional, so nothing fails without them. */
function describeReports({ slackWebhookUrl, temporalUiUrl }: Config): string {
  if (slackWebhookUrl === undefined) return "none are sent, without MEGURI_SLACK_WEBHOOK_URL";
  return temporalUiUrl === undefined
    ? "sent to Slack without links to workflows; set MEGURI_TEMPORAL_UI_URL"
    : `sent to Slack with links to ${temporalUiUrl}`;
}

/** Compares the tables with their definitions, then the clock with DynamoDB's answers. */
async function checkTables({ dynamoEndpoint: endpoint, region, tablePrefix }: Config) {
  const clients = createClients({ endpoint, region });
  try {
    const definitions = definitionsFor(endpoint, tableName(tablePrefix));
    const differences = await compareTables(clients.retrying, definitions).catch((error: Error) => {
      throw new CheckFailed(
        `DynamoDB does not answer: ${error.message}`,
        "Check MEGURI_DYNAMODB_ENDPOINT, AWS_REGION and the credentials.",
      );
    });
    const breaking = differences.filter(({ isBreaking }) => isBreaking);
    if (breaking.length > 0) {
      throw new CheckFailed(breaking.map(lineOf).join("; "), adviceFor(breaking));
    }
    const skewMs = clients.skewMs();
    if (Math.abs(skewMs) > clockToleranceMs) {
      throw new CheckFailed(
        `the clock differs from DynamoDB's by ${Math.round(skewMs / 1_000)} s or more`,
        "Synchronise the clock of this machine (NTP): servers refuse calls with CLOCK_OFF.",
      );
    }
    const found = `${definitions.length} tables, and the clock agrees with DynamoDB's`;
    return [found, ...differences.map(lineOf)].join("; ");
  } finally {
    clients.close();
  }
}

function adviceFor(breaking: readonly Difference[]): string {
  if (breaking.every(isMendedBySetup)) {
    return "Run npm run setup with the same variables, or update the stack of deploy/tables.yaml.";
  }
  return "Use the version of Meguri that made the tables, or another MEGURI_TABLE_PREFIX.";
}

/** How long a check waits for a Temporal that is reached and has much to do. */
const checkMs = 30_000;

/** Opens a connection for one check. */
async function withTemporal(
  config: Config,
  check: (link: Link, config: Config) => Promise<string>,
): Promise<string> {
  const workflows = composeWorkflows(config, createLogger("doctor", "silent"));
  try {
    return await workflows.link.call(() => check(workflows.link, config), checkMs);
  } catch (error) {
    if (error instanceof CheckFailed) throw error;
    throw new CheckFailed(
      `${config.temporalAddress}: ${(error as Error).message}`,
      "Start Temporal, or correct MEGURI_TEMPORAL_ADDRESS and MEGURI_TEMPORAL_NAMESPACE.",
    );
  } finally {
    await workflows.close();
  }
}

async function checkTemporal({ connection, namespace }: Link, config: Config): Promise<string> {
  const { serverVersion } = await connection.workflowService.getSystemInfo({});
  await connection.workflowService.describeNamespace({ namespace });
  return `version ${serverVersion} at ${config.temporalAddress}, namespace ${namespace}`;
}

async function checkInstallation(link: Link, config: Config): Promise<string> {
  return withStore(config, async (clients, names) => {
    try {
      const id = await compareInstallations(link, createDynamoReader(clients, names));
      return id ? `tables and namespace are those of ${id}` : "the namespace has no tables yet";
    } catch (error) {
      if (error instanceof InstallationsDiffer) throw new CheckFailed(error.message, error.advice);
      throw error;
    }
  });
}

/** Tables that are missing or do not answer are what the check of the tables says. */
async function withStore(
  { dynamoEndpoint: endpoint, region, tablePrefix }: Config,
  check: (clients: Clients, names: TableName) => Promise<string>,
): Promise<string> {
  const clients = createClients({ endpoint, region });
  try {
    return await check(clients, tableName(tablePrefix));
  } catch (error) {
    if (error instanceof CheckFailed) throw error;
    return `not checked: ${(error as Error).message}`;
  } finally {
    clients.close();
  }
}

async function checkSearchAttributes({ connection, namespace }: Link): Promise<string> {
  const missing = await missingSearchAttributes(connection, namespace);
  if (missing.length === 0) return "all are there";
  throw new CheckFailed(
    `missing: ${missing.map(({ name }) => name).join(", ")}`,
    `${runSetup} On Temporal Cloud, an administrator makes them in the console or by tcld.`,
  );
}

/** The schedules of sources and of other programs are made by the servers in the same way. */
async function checkSchedules({ client }: Link): Promise<string> {
  const states: string[] = [];
  for (const id of [reconcileId, monthEndId(defaultProgramId)]) {
    try {
      const { state } = await client.schedule.getHandle(id).describe();
      if (state.paused) states.push(`${id} is paused (${state.note ?? "without a note"})`);
    } catch (error) {
      if (!(error instanceof ScheduleNotFoundError)) throw error;
      throw new CheckFailed(`${id} is missing`, runSetup);
    }
  }
  return states.length > 0 ? states.join(", ") : "all are active";
}
