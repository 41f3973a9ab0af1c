/** Inputs that several commands have, and how typed texts are read by the types of their fields. */
import { type DescEnum, type DescField, fromJsonString, ScalarType } from "@bufbuild/protobuf";
import { type Duration, type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { InvalidArgumentError } from "commander";
import { Temporal } from "temporal-polyfill";

/**
 * A line about an argument or an option: its flags as commander has them, the path of the field of
 * the request that it sets, if it sets one, and its help text.
 */
export type InputLine = string | readonly [line: string, details: InputDetails];

/** The properties of an input that the type of its field does not have. */
export interface InputDetails {
  readonly default?: string | number | undefined;
  /** Whether an option has to be given. */
  readonly isRequired?: boolean | undefined;
  /** The option that excludes this one, by the name of its value. */
  readonly conflicts?: string | undefined;
  /** How the text is read; by the type of the field by default. */
  readonly read?: ((text: string) => unknown) | undefined;
  /** The words for the values of an enum; their names by default. */
  readonly words?: Readonly<Record<string, number>> | undefined;
  /** The value of an enum that a switch stands for. */
  readonly on?: number | undefined;
  /** Whether an id is made and printed when none is given. */
  readonly orRandom?: boolean | undefined;
  /** Whether it is a time, which has to be named when the command is repeated. */
  readonly isRepeated?: boolean | undefined;
}

export const monthFormat = 'a month such as "2026-11"';
export const timeFormat = 'a time with its zone, such as "2026-12-24T09:00+09:00", or "+2h"';
/** As `timeFormat`, where a time from now on would be refused. */
export const pastTimeFormat = 'a time with its zone, such as "2026-11-01T00:00+09:00"';
export const targetHelp = "the target: its type, a slash and its id, such as post/42";

export const program: InputLine = [
  "-p, --program <id> = programId: the program",
  { default: "default" },
];
export const eventId: InputLine = [
  "--event-id <id> = eventId: the id that makes a repeated call count once; a random one by " +
    "default",
  { orRandom: true },
];
const reason: InputLine = "--reason <text> = reason: why, for the ledger entry";
export const cause: InputLine =
  "--cause <text> = cause: what led to it, such as the id of an order; at most 128 bytes";
export const dryRun: InputLine = "--dry-run = validateOnly: only say what it would do";
export const changeReason: InputLine = "--reason <text> = reason: why; it is shown with the change";
export const amount: InputLine = "<points> = points: how many, 1 to 1000000000";
export const allowPartial = (verb: string): InputLine =>
  `--allow-partial = allowPartial: ${verb} what there is if the user has fewer points`;
export const regroupAfter: InputLine =
  '--regroup-after <time> = regroupAfter: how long a notification takes in more, such as "24h"; ' +
  "for ever by default";

/** Which entries of a ledger. */
export const entryTypes: InputLine =
  "--type <types...> = types: only these types; -- ends the list";
const recorded = "only what was recorded";
export const recordedSince = `--since <time> = createTimeFrom: ${recorded} since ${pastTimeFormat}`;
export const recordedUntil = `--until <time> = createTimeBefore: ${recorded} before this time`;

/** The options of every change of points, holds and reservations. */
export const change: readonly InputLine[] = [program, reason, cause, dryRun];

export const bulkGrant: InputLine = "<id> = bulkGrantId: the bulk grant";
export const sheet: InputLine = '<file>: the sheet, in CSV or as .xlsx; "-" reads standard input';
export const title: InputLine =
  "--title <title> = title: what people call it, in any script; 96 bytes are kept";
export const replacedRevision: InputLine =
  "--replaced-revision <number> = replacedRevision: make a revision of the same content";

/** Reads a month as the API has it. */
export function readMonth(text: string): string {
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(text)) {
    throw new InvalidArgumentError(`It has to be ${monthFormat}.`);
  }
  return text;
}

/** At whose end points expire. */
export const expireMonth: InputLine = [
  `--expire-month <month> = expireMonth: let the points expire at the end of ${monthFormat}; ` +
    "after the whole lifetime by default",
  { read: readMonth },
];

/** How the bytes of a sheet are read. */
export const encoding: InputLine =
  "--encoding <name> = encoding: utf-8, utf-16, shift_jis, euc-jp, windows-1252, gbk, big5, " +
  "euc-kr or auto; auto by default";
export const skipZero: InputLine =
  "--skip-zero = skipZero: leave the rows of 0 points out, and count them";

/** The words for the values of an enum, without the unspecified one: their names. */
export const enumWords = ({ values }: DescEnum): Readonly<Record<string, number>> =>
  Object.fromEntries(
    values.filter(({ number }) => number !== 0).map(({ localName, number }) => [localName, number]),
  );

/** How the text of a field is read, by its type; undefined where it is taken as it is. */
export function readerOf({ message, scalar }: DescField): ((text: string) => unknown) | undefined {
  switch (message?.typeName ?? scalar) {
    case ScalarType.INT64:
      return readPoints;
    case ScalarType.INT32:
      return readCount;
    case "google.protobuf.Timestamp":
      return readTime;
    case "google.protobuf.Duration":
      return readDuration;
    case "meguri.reactions.v1.TargetName":
      return readTarget;
    default:
      return message && ((text) => readAsGiven(() => fromJsonString(message, text)));
  }
}

/** Reads by a function whose errors say what is wrong with the text. */
function readAsGiven<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}

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

const units = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/** Reads a time: ISO 8601 with a zone, or the time from now on in seconds, minutes, hours, days. */
export function readTime(text: string): Timestamp {
  const [, amount = "", unit = ""] = text.match(/^\+(\d{1,6})([smhd])$/) ?? [];
  const fromNow = Number(amount) * units[unit as "s"] * 1_000;
  if (unit !== "") return timestampFromMs(Date.now() + fromNow);
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
  return { seconds: BigInt(amount) * BigInt(units[unit as "s"]) };
}

/** Reads the name of a target. Ids may contain slashes, types may not. */
function readTarget(text: string): { readonly type: string; readonly id: string } {
  const slash = text.indexOf("/");
  if (slash < 1 || slash === text.length - 1) {
    throw new InvalidArgumentError("It has to be a type and an id, such as post/42.");
  }
  return { type: text.slice(0, slash), id: text.slice(slash + 1) };
}
