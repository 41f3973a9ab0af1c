/** Checks the names of types of events. */
import { closest } from "fastest-levenshtein";
import { eventTypes } from "../rules/event-types.ts";

const names: ReadonlySet<string> = new Set(eventTypes);

/** The type whose name is the nearest to one that does not exist; undefined for one that does. */
export const nearestType = (name: string): string | undefined =>
  names.has(name) ? undefined : closest(name, eventTypes);
