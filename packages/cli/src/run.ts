/** Runs one command line: parses it, runs its action in a session, and prints its error. */
import { CommanderError } from "commander";
import { type Problem, problemOf } from "./errors.ts";
import { exitCodes } from "./exit-codes.ts";
import type { Input } from "./inputs.ts";
import { type Io, write } from "./io.ts";
import { createOutput, printable } from "./output.ts";
import { createProgram } from "./program.ts";
import { type GlobalOptions, openSession, type Session } from "./session.ts";
import type { Runner } from "./tree.ts";

/** Returns the exit code. `argv` is without the program's name. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  let session: Session | undefined;
  let inputs: readonly Input[] = [];
  const inSession: Runner = (command, action) => async () => {
    inputs = command.inputs;
    const options = program.opts<GlobalOptions>();
    session = openSession(io, createOutput(io, options.json === true), options);
    await action(session);
  };
  const program = createProgram(io, inSession);
  try {
    await program.parseAsync(argv, { from: "user" });
    return session?.exitCode ?? exitCodes.done;
  } catch (error) {
    if (error instanceof CommanderError && isHelp(error)) return helpExitCode(error);
    const isJson = argv.includes("--json");
    // A dry run has changed nothing, whatever has become of it.
    if (session && argv.includes("--dry-run")) session.repeatWith = undefined;
    if (io.signal.aborted) return await reportInterrupt(io, session);
    return await report(io, problemOf(error, inputs), isJson, session);
  } finally {
    session?.meguri.close();
  }
}

const isHelp = ({ code }: CommanderError): boolean =>
  code === "commander.version" || code.startsWith("commander.help");

/** A group without one of its commands prints its help, and is a mistake. */
const helpExitCode = (error: CommanderError): number =>
  error.exitCode === 0 ? exitCodes.done : exitCodes.usage;

async function report(
  io: Io,
  problem: Problem,
  isJson: boolean,
  session: Session | undefined,
): Promise<number> {
  const { exitCode } = problem;
  const isRetryable = exitCode === exitCodes.retryable;
  const repeatWith = isRetryable ? session?.repeatWith : undefined;
  if (isJson) {
    await write(io.stderr, `${JSON.stringify({ error: { ...problem, repeatWith } })}\n`);
    return exitCode;
  }
  await write(io.stderr, `meguri: ${problem.reason}: ${withMetadata(problem)}\n`);
  const advice = adviceOf(problem, session);
  if (advice !== undefined) await write(io.stderr, `${advice}\n`);
  return exitCode;
}

function withMetadata({ message, metadata }: Problem): string {
  const values = Object.entries(metadata).map(([name, value]) => `${name} ${value}`);
  return printable(values.length > 0 ? `${message} (${values.join(", ")})` : message);
}

function adviceOf({ exitCode, reason }: Problem, session: Session | undefined): string | undefined {
  switch (exitCode) {
    case exitCodes.usage:
      return "See meguri --help, and --help after a command.";
    case exitCodes.refused:
      return reason === "DIGEST_MISMATCH"
        ? "The content is not the one that was shown. Repeat the command to see what it is now."
        : undefined;
    case exitCodes.notPermitted:
      return reason === "UNAUTHENTICATED" ? identityAdvice(session) : undefined;
    case exitCodes.retryable:
      return `${repeatAdvice(session)} Server: ${session?.connection.url}`;
    default:
      return undefined;
  }
}

/** A server that got no token may verify callers or believe their names. */
const identityAdvice = (session: Session | undefined): string =>
  session?.connection.token
    ? "Set MEGURI_TOKEN to a valid token; where callers are not verified, MEGURI_CALLER instead."
    : "Set MEGURI_TOKEN to a valid token; where callers are not verified, MEGURI_CALLER to a name.";

const repeatAdvice = (session: Session | undefined): string =>
  session?.repeatWith === undefined
    ? "The same command can be repeated: nothing is done twice."
    : `It may be done or not. Repeat the command with ${session.repeatWith}`;

/** A change that was under way may be made or not. */
async function reportInterrupt(io: Io, session: Session | undefined): Promise<number> {
  const isChange = session?.repeatWith !== undefined;
  if (isChange) await write(io.stderr, `\n${repeatAdvice(session)}\n`);
  return exitCodes.interrupted;
}
