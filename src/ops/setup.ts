/**
 * Creates what server and worker need before they start: the tables, the program `default`, and
 * Temporal's search attributes and schedules. Of what exists already, it changes only schedules
 * that differ from what this version and its configuration want.
 */
import type { Deps } from "../app/ports/deps.ts";
import { programRef } from "../app/ports/records.ts";
import { createProgram } from "../app/programs/commands.ts";
import { compose, composeWorkflows } from "../compose.ts";
import { type Config, readConfig } from "../config/config.ts";
import { runProcess } from "../config/config-error.ts";
import { defaultBulkRules } from "../domain/bulk-rules.ts";
import { asService } from "../domain/caller.ts";
import { defaultLifetimeMonths, defaultProgramId, defaultTimeZone } from "../domain/program.ts";
import { createLogger, type Logger } from "../log.ts";
import { createClients } from "../store/dynamodb/sdk/client.ts";
import { createTables, tableName } from "../store/dynamodb/tables.ts";
import { ensureSchedules } from "../temporal/schedules.ts";

/** Creates all of it. Throws when the store or Temporal does not answer. */
export async function setup(config: Config, log: Logger): Promise<void> {
  const workflows = composeWorkflows(config, log);
  const { deps, close } = compose(config, workflows, log);
  try {
    await setupTables(config);
    // Before the program, whose schedule has a search attribute that this registers.
    await ensureSchedules(workflows, deps.reader, deps.bulkSources.pickUps);
    await setupProgram(deps);
  } finally {
    await close();
    await workflows.close();
  }
}

export async function setupTables({
  dynamoEndpoint: endpoint,
  region,
  tablePrefix,
}: Pick<Config, "dynamoEndpoint" | "region" | "tablePrefix">): Promise<void> {
  const clients = createClients({ endpoint, region });
  try {
    await createTables(clients.retrying, tableName(tablePrefix));
  } finally {
    clients.close();
  }
}

/** Creates the program `default`, in which the sources may grant that are configured for it. */
export async function setupProgram(deps: Deps): Promise<void> {
  if (await deps.reader.get(programRef(defaultProgramId))) return;
  const sources = deps.bulkSources.namesFor(defaultProgramId).toSorted();
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
