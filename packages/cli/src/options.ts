/** Arguments and options that several commands have, and how their texts are read. */

import type { DescEnum, EnumShape } from "@bufbuild/protobuf";
import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { LedgerEntry_TypeSchema as EntryTypeSchema } from "@meguri/client/points";
import { Temporal } from "temporal-polyfill";

export const programOption = () =>
  new Option("-p, --program <id>", "the program").default("default");

export const eventIdOption = () =>
  new Option(
    "--event-id <id>",
    "the id that makes a repeated call count once; a random one by default",
  );

export const reasonOption = () => new Option("--reason <text>", "why, for the ledger entry");

export const causeOption = () =>
  new Option("--cause <text>", "what led to it, such as the id of an order; at most 128 bytes");

export const dryRunOption = () =>
  new Option("--dry-run", "only say what it would do").default(false);

export const changeReasonOption = () =>
  new Option("--reason <text>", "why; it is shown with the change");

export const monthFormat = 'a month such as "2026-11"';

/** Reads a month as the API has it. */
export function readMonth(text: string): string {
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(text)) {
    throw new InvalidArgumentError(`It has to be ${monthFormat}.`);
  }
  return text;
}

/** At whose end points expire. */
export const expireMonthOption = () =>
  new Option(
    "--expire-month <month>",
    `let the points expire at the end of ${monthFormat}; after the whole lifetime by default`,
  ).argParser(readMonth);

/** An option whose value names a value of an enum, such as `FAILED`. */
export const enumOption = <const Flags extends string>(
  flags: Flags,
  description: string,
  schema: DescEnum,
) => new Option(flags, description).choices(enumNames(schema));

/** The types of ledger entries that a list is to have. */
export const typesOption = () =>
  enumOption("--type <types...>", "only these types; -- ends the list", EntryTypeSchema);

/** The names of an enum's values without the unspecified one, as they are typed and printed. */
const enumNames = (schema: DescEnum): string[] =>
  schema.values.filter(({ number }) => number !== 0).map(({ localName }) => localName);

/** The value with this name, or the unspecified one. */
export const enumValue = <Desc extends DescEnum>(
  schema: Desc,
  name: string | undefined,
): EnumShape<Desc> =>
  (schema.values.find(({ localName }) => localName === name)?.number ?? 0) as EnumShape<Desc>;

/** The name of a value; a value that is newer than this command is printed as its number. */
export const enumName = (schema: DescEnum, value: number): string =>
  schema.value[value]?.localName ?? String(value);

/** Reads a number of points. The server knows the limits. */
export function readPoints(text: string): bigint {
  if (!/^[1-9]\d{0,17}$/.test(text)) {
    throw new InvalidArgumentError("It has to be a whole number, 1 or more.");
  }
  return BigInt(text);
}

/** Reads a whole number, 0 or more. */
export function readCount(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("It has to be a whole number.");
  return Number(text);
}

export const timeFormat = 'a time with its zone, such as "2026-12-24T09:00+09:00", or "+2h"';

/** As `timeFormat`, where a time from now on would be refused. */
export const pastTimeFormat = 'a time with its zone, such as "2026-11-01T00:00+09:00"';

const units = { s: "seconds", m: "minutes", h: "hours" } as const;

/** Reads a time: ISO 8601 with a zone, or the time from now on in seconds, minutes, hours, days. */
export function readTime(text: string): Timestamp {
  const [, amount = "", unit = ""] = text.match(/^\+(\d{1,6})([smhd])$/) ?? [];
  if (unit === "d") return fromNow(Temporal.Duration.from({ hours: 24 * Number(amount) }));
  if (unit !== "") return fromNow(Temporal.Duration.from({ [units[unit as "s"]]: Number(amount) }));
  try {
    return timestampFromMs(Temporal.Instant.from(text).epochMilliseconds);
  } catch {
    throw new InvalidArgumentError(`It has to be ${timeFormat}.`);
  }
}

/** Reads a length of time in seconds, minutes, hours or days. The server knows the limits. */
export function readDuration(text: string): Pick<Duration, "seconds"> {
  const [, amount = "", unit = ""] = text.match(/^(\d{1,9})([smhd])$/) ?? [];
  if (unit === "") throw new InvalidArgumentError('It has to be a time such as "30m" or "24h".');
  return { seconds: BigInt(amount) * unitSeconds[unit as "s"] };
}

const unitSeconds = { s: 1n, m: 60n, h: 3_600n, d: 86_400n } as const;

/** How long an unread notification takes in further members. */
export const regroupAfterOption = () =>
  new Option(
    "--regroup-after <time>",
    'how long a notification takes in more, such as "24h"; for ever by default',
  ).argParser(readDuration);

const fromNow = (duration: Temporal.Duration): Timestamp =>
  timestampFromMs(Temporal.Now.instant().add(duration).epochMilliseconds);

export const targetHelp = "the target: its type, a slash and its id, such as post/42";

/** Reads the name of a target. Ids may contain slashes, types may not. */
export function readTarget(text: string): { readonly type: string; readonly id: string } {
  const slash = text.indexOf("/");
  if (slash < 1 || slash === text.length - 1) {
    throw new InvalidArgumentError("It has to be a type and an id, such as post/42.");
  }
  return { type: text.slice(0, slash), id: text.slice(slash + 1) };
}
