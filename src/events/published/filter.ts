/** Decides which events a reader or a subscription gets. */
import type { Event } from "./event.ts";

export interface EventFilter {
  /** Events of these programs only; undefined for all events, also those without a program. */
  readonly programIds?: readonly string[] | undefined;
  /** Events of these types only; all types if it has none. */
  readonly types: readonly string[];
}

/** A gap concerns everybody: the events that it has delayed may be of any program. */
const ofAllPrograms: readonly string[] = ["events.gap_found", "events.gap_closed"];

export const isWanted = ({ type, programId }: Event, { programIds, types }: EventFilter): boolean =>
  (types.length === 0 || types.includes(type)) &&
  (!programIds || programIds.includes(programId) || ofAllPrograms.includes(type));
