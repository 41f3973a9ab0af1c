/** Decides which names of time zones a program may have. */
import tzdata from "tzdata" with { type: "json" };
import { isComputable } from "./month.ts";

/**
 * Returns the time zone that `name` names in any case, in the spelling of the tz database. Returns
 * undefined for a name that ICU has but the database has not (`JST`, `US/Pacific-New`): Temporal's
 * server accepts only names of the database, in their exact spelling.
 */
export function timeZoneOf(name: string): string | undefined {
  const timeZone = spellings.get(name.toLowerCase());
  return timeZone !== undefined && isComputable(timeZone) ? timeZone : undefined;
}

/**
 * The names of the tz database, its links included, by their lower-case form. A link is not
 * replaced by the zone that it refers to: a later release may separate the two, and a program keeps
 * its zone.
 */
const spellings = new Map(Object.keys(tzdata.zones).map((name) => [name.toLowerCase(), name]));
