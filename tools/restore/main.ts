/**
 * `npm run compare-restored [-- --repair]`: compares tables that were restored each by itself, says
 * what was lost, and with `--repair` mends what one of the tables still knows. Reads a tool's
 * variables, among them the prefix of the restored tables. No server and no worker may use them
 * meanwhile; `--repair` refuses to begin while a server does. Ends with 1 if anything is left that
 * it has not mended.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { compose, composeWorkflows } from "../../src/compose.ts";
import type { Deps } from "../../src/hub/deps.ts";
import { readConfig } from "../../src/platform/config/config.ts";
import { OperatorError, runProcess } from "../../src/platform/config/config-error.ts";
import { createClients } from "../../src/platform/dynamodb/sdk/client.ts";
import { tableName } from "../../src/platform/dynamodb/tables.ts";
import { createLogger } from "../../src/platform/observe/log.ts";
import { leaseRef } from "../../src/platform/ports/records.ts";
import { DomainError } from "../../src/platform/words/errors.ts";
import type { Milliseconds } from "../../src/platform/words/units.ts";
import { createTableScan } from "../../src/store/scan.ts";
import { compareTables } from "./compare.ts";
import { type Finding, findingKinds } from "./findings.ts";

/** A holder of the lease of the schedules writes a heartbeat every 10 s, and may be late. */
const usualHeartbeatWaitMs: Milliseconds = 25_000;

/**
 * Prints a line for each finding, then their numbers. Returns the exit code. Throws OperatorError
 * when the tables are in use or missing, or the store refuses or does not answer.
 */
export async function compareRestored(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  print: (line: string) => void,
  heartbeatWaitMs = usualHeartbeatWaitMs,
): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { repair: { type: "boolean" } } });
  const { repair = false } = values;
  const config = readConfig(env, "setup");
  const counts = { FOUND: 0, MENDED: 0, REFUSED: 0 };
  const report = (finding: Finding) => {
    counts[finding.outcome] += 1;
    print(lineOf(finding));
  };
  const log = createLogger("compare-restored", config.logLevel);
  const workflows = composeWorkflows(config, log);
  const { deps, close } = compose(config, workflows, log);
  const { dynamoEndpoint: endpoint, region, dynamoTransport: transport } = config;
  const clients = createClients({ endpoint, region, transport });
  try {
    if (repair) await requireUnused(deps, heartbeatWaitMs);
    const tables = createTableScan(clients.retrying, tableName(config.tablePrefix));
    await compareTables({ ...deps, ...tables, repair, report });
  } catch (error) {
    throw shown(error, config.tablePrefix);
  } finally {
    clients.close();
    await close();
    await workflows.close();
  }
  const { FOUND, MENDED, REFUSED } = counts;
  print(`tables ${config.tablePrefix}*: ${MENDED} mended, ${FOUND + REFUSED} left`);
  return FOUND + REFUSED > 0 ? 1 : 0;
}

const words = { FOUND: "found  ", MENDED: "mended ", REFUSED: "refused" } as const;

function lineOf({ kind, name, detail, outcome }: Finding): string {
  return `${words[outcome]}  ${kind}  ${name}: ${detail || findingKinds[kind]}`;
}

/**
 * Throws when a server writes heartbeats to the lease of the schedules. A restored lease may have a
 * holder as well, but no server writes its heartbeats. Workers hold no lease, so this does not find
 * them.
 */
async function requireUnused({ reader }: Deps, heartbeatWaitMs: Milliseconds): Promise<void> {
  const read = async () => (await reader.get(leaseRef("schedules")))?.value;
  const before = await read();
  if (!before?.holder) return;
  await sleep(heartbeatWaitMs);
  if ((await read())?.heartbeat === before.heartbeat) return;
  throw new OperatorError("a server uses these tables: stop all servers and workers first");
}

/** An error that an operator can do something about, as one line. */
function shown(error: unknown, prefix: string): unknown {
  if (!(error instanceof DomainError)) return error;
  if (error.metadata.code === "ResourceNotFoundException") {
    return new OperatorError(`a table ${prefix}* does not exist; MEGURI_TABLE_PREFIX names them`);
  }
  return new OperatorError(`${error.reason}: ${error.message}`);
}

if (import.meta.main) {
  await runProcess(async () => {
    process.exitCode = await compareRestored(process.argv.slice(2), process.env, console.log);
  });
}
