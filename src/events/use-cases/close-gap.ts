/** Closes a gap: makes the events of lost changes from the tables. */
import type { OpenGap } from "../ports/log.ts";
import type { ChangeEvent } from "../rules/change-event.ts";
import { eventsSince, type RecordDeps } from "./events-since.ts";

/**
 * Emits the events of a gap from its cursor on, a page at a time. Each has the id that the stream
 * would have given to it. Throws what the store throws, and when the signal aborts: the caller goes
 * on from the last cursor that it has kept. What it has kept of a page without its cursor comes
 * again.
 */
export const closeGap = (
  deps: RecordDeps,
  { table, startTime, cursor }: OpenGap,
  emit: (events: readonly ChangeEvent[], cursor: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> => eventsSince(deps, [table], startTime, cursor, emit, signal);
