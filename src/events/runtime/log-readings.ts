/** Logs once that the log of events cannot be read, and once that it can again. */
import type { Logger } from "../../platform/observe/log.ts";
import { describeError } from "../../platform/ports/described-errors.ts";

/** To be called after each reading, with its error if it has failed. */
export type NoteReading = (error?: unknown) => void;

export function createReadingNotes(log: Logger): NoteReading {
  let failing = false;
  return (error) => {
    const err = error === undefined ? undefined : describeError(error);
    if (err && !failing) log.warn({ err }, "the log of events cannot be read; trying again");
    if (!err && failing) log.info("the log of events is read again");
    failing = err !== undefined;
  };
}
