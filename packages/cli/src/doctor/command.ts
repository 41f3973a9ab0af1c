/** The command that says what is wrong with a set-up, and what to do. */
import manifest from "../../../../package.json" with { type: "json" };
import { type AddCommand, examples } from "../action.ts";
import { exitCodes } from "../exit-codes.ts";
import type { Output } from "../output.ts";
import { callerChecks } from "./caller-checks.ts";
import { type Check, CheckFailed } from "./checks.ts";

export const addDoctor: AddCommand = (parent, inSession) => {
  parent
    .command("doctor")
    .summary("check the set-up, and say what to do")
    .description(
      "Checks versions, the servers, the clock and the identity of the caller. With --server it " +
        "also checks what a server needs: run it where the server runs, with its variables. " +
        "Nothing is changed. The exit code is 0 if all is well.",
    )
    .option("--server", "also check configuration, tables, Temporal and schedules of a server")
    .addHelpText("after", examples("meguri doctor", "meguri doctor --server"))
    .action(
      inSession(async (session, { server }) => {
        const checks = [versions, ...callerChecks(session)];
        if (server) {
          // Loaded when it is needed, because the SDKs of AWS and Temporal take a second.
          const { serverChecks } = await import("./server-checks.ts");
          checks.push(...serverChecks(session.io.env));
        }
        for (const check of checks) {
          if (!(await report(session.out, check))) session.exitCode = exitCodes.refused;
        }
      }),
    );
};

const versions: Check = {
  name: "versions",
  run: async () => `meguri ${manifest.version}, Node ${process.versions.node}`,
};

/** Prints the result of a check, and returns whether all is well. */
async function report(out: Output, { name, run }: Check): Promise<boolean> {
  try {
    const found = await run();
    await out.value({ check: name, ok: true, found }, line(out, true, name, found));
    return true;
  } catch (error) {
    if (!(error instanceof CheckFailed)) throw error;
    const { message: found, advice } = error;
    const text = line(out, false, name, `${found}. ${advice}`);
    await out.value({ check: name, ok: false, found, advice }, text);
    return false;
  }
}

function line(out: Output, isOk: boolean, name: string, text: string): string {
  const state = isOk ? out.style("green", "ok") : out.style("red", "FAILED");
  const padding = isOk ? "      " : "  ";
  return `${state}${out.isTerminal ? padding : "\t"}${out.table([[name, text]])}`;
}
