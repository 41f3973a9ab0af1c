/** Asks the person at the terminal before something is done. */
import { createInterface } from "node:readline";
import { type Io, write } from "./io.ts";

/** Whether the person answers yes to the question. Without a line that Enter ends that is no. */
export async function confirm({ stdin, stderr, signal }: Io, question: string): Promise<boolean> {
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
