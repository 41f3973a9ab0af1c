/**
 * Runs command lines one after the other in one process, with the real streams of the process: its
 * parent connects them to a pipe or to a pseudo-terminal, and sends the command lines by a socket.
 */
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { run } from "../../../packages/cli/src/run.ts";

/** What the parent sends: a command line, or Ctrl-C for the one that runs. */
export type DriverRequest =
  | { readonly argv: readonly string[]; readonly env: Readonly<Record<string, string>> }
  | "interrupt";

/** What both streams print after a command, followed by its exit code. */
export const endMark = "\u0001end ";

if (import.meta.main) {
  const socket = connect(process.argv[2] ?? "");
  let interrupt = new AbortController();
  for await (const line of createInterface({ input: socket })) {
    const request = JSON.parse(line) as DriverRequest;
    if (request === "interrupt") interrupt.abort();
    else void execute(request);
  }

  async function execute({ argv, env }: Exclude<DriverRequest, string>): Promise<void> {
    interrupt = new AbortController();
    const { stdin, stdout, stderr } = process;
    const io = { stdin, stdout, stderr, env: { ...process.env, ...env }, signal: interrupt.signal };
    const code = await run(argv, io).catch((error) => `${error.stack}`);
    stderr.write(`${endMark}${code}\n`);
    stdout.write(`${endMark}${code}\n`);
  }
}
