/** Asks the person at the terminal before something is done. */
import { createInterface } from "node:readline";
import { UsageError } from "./errors.ts";
import { type Io, write } from "./io.ts";
import { printable } from "./output.ts";
import { conclude, type Session } from "./session.ts";

/** Says why nothing was done, and sets the exit code. Returns false. */
export const refuse = async (session: Session, text: string): Promise<false> => {
  await conclude(session, text, false);
  return false;
};

/** Whether there is a person who can be asked. */
export const isAsking = ({ io, out }: Session): boolean => io.stdin.isTTY === true && !out.isJson;

/** Throws UsageError with what a command needs where it cannot ask. */
export function expectTerminal(session: Session, needs: string): void {
  if (isAsking(session)) return;
  throw new UsageError(`${session.out.isJson ? "with --json" : "without a terminal"}, ${needs}`);
}

/**
 * Whether the person agrees. After any other answer it says what was not done. If there are
 * details, `d` shows them, and the question is asked again.
 */
export async function agree(
  session: Session,
  question: string,
  otherwise: string,
  showDetails?: () => Promise<void>,
): Promise<boolean> {
  for (;;) {
    const answer = await answerTo(session.io, `${question} [y/N] `);
    if (/^y(es)?$/i.test(answer)) return true;
    if (!showDetails || !/^d(etails)?$/i.test(answer)) return refuse(session, otherwise);
    await showDetails();
  }
}

/** The most bytes of UTF-8 in a reason; the server takes no more. */
const maxReasonBytes = 128;

/**
 * Asks for the reason of a change, unless the request has one. Only one that is needed may not be
 * empty. Without a line that Enter ends, says what was not done. Returns whether to go on.
 */
export async function askReason(
  session: Session,
  request: { reason: string },
  { isNeeded, otherwise }: { readonly isNeeded: boolean; readonly otherwise: string },
): Promise<boolean> {
  while (request.reason === "") {
    const answer = await lineAfter(session.io, isNeeded ? "Why? " : "Note, or Enter: ");
    if (answer === undefined) return refuse(session, otherwise);
    const bytes = Buffer.byteLength(answer);
    if (answer === "" && !isNeeded) return true;
    if (answer === "") await session.out.note("a reason is needed");
    else if (bytes > maxReasonBytes) {
      await session.out.note(`it has ${bytes} bytes, and at most ${maxReasonBytes} are kept`);
    } else if (answer !== printable(answer)) {
      await session.out.note("it has characters that move the cursor or change the direction");
    } else request.reason = answer;
  }
  return true;
}

const answerTo = async (io: Io, question: string): Promise<string> =>
  (await lineAfter(io, question)) ?? "";

/**
 * The line that the person types, without blanks at its ends; undefined when Ctrl-D ends the input
 * before Enter ends the line.
 */
async function lineAfter({ stdin, stderr, signal }: Io, text: string): Promise<string | undefined> {
  await write(stderr, text);
  // The terminal edits the line itself, so that Ctrl-C remains a signal.
  const lines = createInterface({ input: stdin, terminal: false, signal });
  try {
    // The rest of a line before Ctrl-D is a line, too, when the input has ended.
    for await (const line of lines) if (!stdin.readableEnded) return line.trim();
  } finally {
    // A terminal that is still read keeps the process running.
    lines.close();
  }
  signal.throwIfAborted();
  // Ctrl-D has ended the input, but not the line.
  await write(stderr, "\n");
  return undefined;
}
