/**
 * `npm run doctor [-- --json]`: says what is wrong with the set-up of a server, and what to do. It
 * reads a server's variables, changes nothing, and ends with 1 if a check has failed.
 */
import { parseArgs } from "node:util";
import manifest from "../../package.json" with { type: "json" };
import { CheckFailed } from "./check-failed.ts";
import { type Check, serverChecks } from "./doctor-checks.ts";

/** Prints one line for each check, and returns the exit code. */
export async function doctor(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  print: (line: string) => void,
): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { json: { type: "boolean" } } });
  let code = 0;
  for (const check of [versions, ...serverChecks(env)]) {
    const finding = await findingOf(check);
    if (!finding.ok) code = 1;
    print(values.json ? JSON.stringify(finding) : lineOf(finding));
  }
  return code;
}

/** The result of one check, as `--json` prints it. */
interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly found: string;
  /** Advice for the operator, if the check has failed. */
  readonly advice?: string;
}

const versions: Check = {
  name: "versions",
  run: async () => `meguri ${manifest.version}, Node ${process.versions.node}`,
};

async function findingOf({ name: check, run }: Check): Promise<Finding> {
  try {
    return { check, ok: true, found: await run() };
  } catch (error) {
    if (!(error instanceof CheckFailed)) throw error;
    return { check, ok: false, found: error.message, advice: error.advice };
  }
}

function lineOf({ check, ok, found, advice }: Finding): string {
  return `${ok ? "ok    " : "FAILED"}  ${check}: ${ok ? found : `${found}. ${advice}`}`;
}

if (import.meta.main) {
  process.exitCode = await doctor(process.argv.slice(2), process.env, console.log);
}
