/**
 * Creates what server and worker need before they start: the tables, the program `default`, and
 * Temporal's search attributes and schedules. Of what exists already, it changes only schedules
 * that differ from what this version and its configuration want, and tables without an index or a
 * time to live that this version needs.
 */

import { randomUUID } from "node:crypto";
import { pickUpsOf, type SourceDefinition } from "../bulk-grants/sources/definitions.ts";
import { compose, composeWorkflows, readSources } from "../compose.ts";
import type { Deps } from "../hub/deps.ts";
import { type Config, readConfig } from "../platform/config/config.ts";
import { OperatorError, runProcess } from "../platform/config/config-error.ts";
import { createClients } from "../platform/dynamodb/sdk/client.ts";
import { tableName } from "../platform/dynamodb/tables.ts";
import { createLogger, type Logger } from "../platform/observe/log.ts";
import { installationRef } from "../platform/ports/records.ts";
import type { Link } from "../platform/temporal/connection.ts";
import { asService } from "../platform/words/caller.ts";
import { DomainError } from "../platform/words/errors.ts";
import { defaultProgramId } from "../platform/words/program-ids.ts";
import { changeRecord } from "../platform/work/change-record.ts";
import { programRef } from "../points/ports/records.ts";
import { defaultBulkRules } from "../points/rules/bulk-rules.ts";
import { defaultLifetimeMonths, defaultTimeZone } from "../points/rules/program.ts";
import { createProgram } from "../points/use-cases/programs/commands.ts";
import { compareInstallations, InstallationsDiffer } from "../temporal/installation.ts";
import { ensureSchedules } from "../temporal/schedules.ts";
import { untilAnswered } from "./await-answers.ts";
import { definitionsFor } from "./tables/definitions.ts";
import { lineOf } from "./tables/differences.ts";
import { compareTables, manageTables } from "./tables/manage-tables.ts";

/**
 * Creates all of it. Throws as setupTables does, and OperatorError if store or Temporal does not
 * answer for a minute.
 */
export async function setup(config: Config, log: Logger): Promise<void> {
  const sources = readSources(config);
  const workflows = composeWorkflows(config, log);
  const { deps, close } = compose(config, workflows, log);
  try {
    // Before the tables, so that a wrong prefix creates none. Asked again below, if one is silent.
    await compareInstallations(workflows.link, deps.reader).catch(unlessDifferent);
    await untilAnswered(() => setupTables(config, log), log);
    await untilAnswered(() => setupInstallation(workflows.link, deps), log);
    // Before the program, whose schedule has a search attribute that this registers.
    await untilAnswered(() => ensureSchedules(workflows, deps.reader, pickUpsOf(sources)), log);
    await untilAnswered(() => setupProgram(deps, sources), log);
  } finally {
    await close();
    await workflows.close();
  }
}

/** Throws an operator's error when a namespace that has an id does not belong to the tables. */
function unlessDifferent(error: unknown): void {
  if (error instanceof InstallationsDiffer) {
    throw new OperatorError(`${error.message}. ${error.advice}`);
  }
  const isRefusal = error instanceof DomainError && error.reason === "STORE_REFUSES";
  if (!isRefusal || error.metadata.code !== "ResourceNotFoundException") return;
  const text = "the namespace belongs to an installation whose tables are not there";
  unlessDifferent(new InstallationsDiffer(text));
}

/** Gives the tables their id, unless they have one or the namespace belongs to other tables. */
async function setupInstallation(link: Link, deps: Deps): Promise<void> {
  try {
    await compareInstallations(link, deps.reader);
  } catch (error) {
    unlessDifferent(error);
    throw error;
  }
  await changeRecord(deps, { ref: installationRef }, (found) => found ?? { id: randomUUID() });
}

/** How often the setup says that a request has no answer, in ms. */
const sayingMs = 1_000;

type TablesConfig = Pick<Config, "dynamoEndpoint" | "region" | "tablePrefix" | "manageTables">;

/**
 * Creates and adds what is missing in the tables, or with MEGURI_MANAGE_TABLES=0 only compares, and
 * logs what is different. Throws OperatorError if this version cannot work with what is there. An
 * index that is being added, which takes minutes to hours, is asked for every `pollMs`.
 */
export async function setupTables(
  config: TablesConfig,
  log: Logger,
  pollMs = 10_000,
): Promise<void> {
  const { dynamoEndpoint: endpoint, region, tablePrefix, manageTables: isManaging } = config;
  const { retrying: client, silenceMs, close } = createClients({ endpoint, region });
  // The SDK tries four times, for 3 s each, before it throws.
  const saying = setInterval(() => {
    if (silenceMs() >= sayingMs) log.warn("the store gives no answer");
  }, sayingMs);
  try {
    const definitions = definitionsFor(endpoint, tableName(tablePrefix));
    const differences = isManaging
      ? await manageTables(client, definitions, { log, pollMs })
      : await compareTables(client, definitions);
    for (const difference of differences) {
      if (!difference.isBreaking) log.warn(lineOf(difference));
    }
    const breaking = differences.filter(({ isBreaking }) => isBreaking).map(lineOf);
    if (breaking.length === 0) return;
    const text =
      "the tables are not as this version needs them; docs/run/tables.md says what to do";
    throw new OperatorError([text, ...breaking].join("\n  "));
  } finally {
    clearInterval(saying);
    close();
  }
}

/** Creates the program `default`, in which the sources may grant that are configured for it. */
export async function setupProgram(
  deps: Deps,
  definitions: readonly SourceDefinition[] = [],
): Promise<void> {
  if (await deps.reader.get(programRef(defaultProgramId))) return;
  const own = definitions.filter(({ programs }) => programs.includes(defaultProgramId));
  const sources = own.map(({ name }) => name).toSorted();
  await createProgram(deps, {
    programId: defaultProgramId,
    timeZone: defaultTimeZone,
    lifetimeMonths: defaultLifetimeMonths,
    bulkRules: { rules: { ...defaultBulkRules, sources }, proposer: asService("setup") },
  });
}

if (import.meta.main) await runProcess(main);

async function main(): Promise<void> {
  const config = readConfig(process.env, "setup");
  const log = createLogger("setup", config.logLevel);
  await setup(config, log);
  log.info("set up");
}
