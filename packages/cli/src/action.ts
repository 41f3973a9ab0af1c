/** Joins the actions of commands to the session in which they run. */
import type { Command } from "@commander-js/extra-typings";
import type { Session } from "./session.ts";

/** Makes an action of commander from an action in a session. */
export type Runner = <Args extends unknown[]>(
  action: (session: Session, ...args: Args) => Promise<void>,
) => (...args: Args) => Promise<void>;

/** Adds one command, or a group of them, to a command. */
export type AddCommand = (parent: Command, inSession: Runner) => void;

/** Examples below the help text of a command. */
export const examples = (...lines: readonly string[]): string =>
  ["", lines.length > 1 ? "Examples:" : "Example:", ...lines.map((line) => `  ${line}`)].join("\n");
