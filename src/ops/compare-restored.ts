/**
 * `npm run compare-restored [-- --repair]`: compares tables that were restored each by itself, says
 * what was lost, and with `--repair` mends what one of the tables still knows. Reads a tool's
 * variables, among them the prefix of the restored tables. No server and no worker may use them
 * meanwhile. Ends with 1 if anything is left that it has not mended.
 */
import { parseArgs } from "node:util";
import { compareTables } from "../app/restore/compare.ts";
import { type Finding, findingKinds } from "../app/restore/findings.ts";
import { compose, composeWorkflows } from "../compose.ts";
import { readConfig } from "../config/config.ts";
import { ConfigError } from "../config/config-error.ts";
import { createLogger } from "../log.ts";
import { createTableScan } from "../store/dynamodb/scan.ts";
import { createClients } from "../store/dynamodb/sdk/client.ts";
import { tableName } from "../store/dynamodb/tables.ts";

/** Prints a line for each finding, then their numbers. Returns the exit code. */
export async function compareRestored(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  print: (line: string) => void,
): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { repair: { type: "boolean" } } });
  const config = readConfig(env, "setup");
  const counts = { FOUND: 0, MENDED: 0, REFUSED: 0 };
  const report = (finding: Finding) => {
    counts[finding.outcome] += 1;
    print(lineOf(finding));
  };
  const log = createLogger("compare-restored", config.logLevel);
  const workflows = composeWorkflows(config, log);
  const { deps, close } = compose(config, workflows, log);
  const clients = createClients({ endpoint: config.dynamoEndpoint, region: config.region });
  try {
    const tables = createTableScan(clients.retrying, tableName(config.tablePrefix));
    await compareTables({ ...deps, ...tables, repair: values.repair ?? false, report });
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

if (import.meta.main) {
  try {
    process.exitCode = await compareRestored(process.argv.slice(2), process.env, console.log);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
