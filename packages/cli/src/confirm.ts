/** Asks the person at the terminal before something is done. */
import { createInterface } from "node:readline";
import { type Io, write } from "./io.ts";

/** Whether the person answers yes to the question. Without an answer that is no. */
export async function confirm({ stdin, stderr, signal }: Io, question: string): Promise<boolean> {
  await write(stderr, `${question} [y/N] `);
  // The terminal edits the line itself, so that Ctrl-C remains a signal.
  const lines = createInterface({ input: stdin, terminal: false, signal });
  for await (const line of lines) return /^y(es)?$/i.test(line.trim());
  signal.throwIfAborted();
  return false;
}
