/** Which names of time zones a program may have. */
import tzdata from "tzdata" with { type: "json" };
import { isComputable } from "./month.ts";

/**
 * The names of the tz database, links among them, by their lower-case form. Links are not followed:
 * a later release may merge or split the places that a link joins, and a program keeps its zone.
 */
const names = new Map(Object.keys(tzdata.zones).map((name) => [name.toLowerCase(), name]));

/**
 * The time zone that `name` names in any case, in the spelling of the tz database. Absent for what
 * is not in the database, although ICU computes it (`JST`, `US/Pacific-New`): Temporal (Go) knows
 * the database alone, and tells upper from lower case.
 */
export function timeZoneOf(name: string): string | undefined {
  const zone = names.get(name.toLowerCase());
  return zone !== undefined && isComputable(zone) ? zone : undefined;
}
