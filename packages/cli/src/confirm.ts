/** Asks the person at the terminal before something is done. */
import { createInterface } from "node:readline";
import { UsageError } from "./errors.ts";
import { type Io, write } from "./io.ts";
import { conclude, type Session } from "./session.ts";

/** Says why nothing was done, and sets the exit code. Returns false. */
export const refuse = async (session: Session, text: string): Promise<false> => {
  await conclude(session, text, false);
  return false;
};

/** Throws UsageError with what a command needs where it cannot ask. */
export function expectTerminal({ io, out }: Session, needs: string): void {
  if (io.stdin.isTTY && !out.isJson) return;
  throw new UsageError(`${out.isJson ? "with --json" : "without a terminal"}, ${needs}`);
}

/** Whether the person agrees. After any other answer it says what was not done. */
export const agree = async (session: Session, question: string, otherwise: string) =>
  (await confirm(session.io, question)) || refuse(session, otherwise);

/** Whether the person answers yes to the question. Without a line that Enter ends that is no. */
async function confirm({ stdin, stderr, signal }: Io, question: string): Promise<boolean> {
  await write(stderr, `${question} [y/N] `);
  // The terminal edits the line itself, so that Ctrl-C remains a signal.
  const lines = createInterface({ input: stdin, terminal: false, signal });
  try {
    // The rest of a line before Ctrl-D is a line, too, when the input has ended.
    for await (const line of lines) if (!stdin.readableEnded) return /^y(es)?$/i.test(line.trim());
  } finally {
    // A terminal that is still read keeps the process running.
    lines.close();
  }
  signal.throwIfAborted();
  // Ctrl-D has ended the input, but not the line.
  await write(stderr, "\n");
  return false;
}
