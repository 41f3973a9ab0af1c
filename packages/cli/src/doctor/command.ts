/** The command `doctor`, which says what is wrong with a connection, and what to do. */
import { type AddCommand, examples } from "../action.ts";
import { exitCodes } from "../exit-codes.ts";
import type { Output } from "../output.ts";
import { version } from "../version.ts";
import { callerChecks } from "./caller-checks.ts";
import { type Check, CheckFailed } from "./checks.ts";

export const addDoctor: AddCommand = (parent, inSession) => {
  parent
    .command("doctor")
    .summary("check the set-up, and say what to do")
    .description(
      "Checks versions, the servers, their contract, the clock and the identity of the caller. " +
        "Nothing is changed. The exit code is 0 if all is well.",
    )
    .addHelpText("after", examples("meguri doctor"))
    .action(
      inSession(async (session) => {
        for (const check of [versions, ...callerChecks(session)]) {
          if (!(await report(session.out, check))) session.exitCode = exitCodes.refused;
        }
      }),
    );
};

const versions: Check = {
  name: "versions",
  run: async () => `meguri ${version}, Node ${process.versions.node}`,
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
