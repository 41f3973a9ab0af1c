/** The process of the command: its streams, signals and exit code. */
import { constants } from "node:os";
import { exitCodes } from "./exit-codes.ts";
import { run } from "./run.ts";

const interrupt = new AbortController();
let signalled: number | undefined;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  // A second signal ends the process at once.
  process.once(signal, () => {
    signalled = 128 + constants.signals[signal];
    interrupt.abort();
  });
}

// The reader of results has gone, as in `meguri ledger alice | head`: nothing is left to be done.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  // Such as a full disk. A change may be done already, so the answer is not known to the reader.
  process.stderr.write(`meguri: OUTPUT_FAILED: cannot write the result: ${error.message}\n`, () =>
    process.exit(exitCodes.retryable),
  );
});
// Without a reader of messages the command goes on.
process.stderr.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

const { stdin, stdout, stderr, env } = process;
const code = await run(process.argv.slice(2), {
  stdin,
  stdout,
  stderr,
  env,
  signal: interrupt.signal,
});
// A command that was asked to end, such as one that follows events, may have done what it should.
process.exitCode = code === exitCodes.done ? code : (signalled ?? code);
