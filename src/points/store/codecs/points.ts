/** How programs, accounts, ledger entries, event keys and the test clock are stored. */

import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { decodeCaller, encodeCaller } from "../../../platform/dynamodb/callers.ts";
import { type Codec, shardOf } from "../../../platform/dynamodb/codec.ts";
import {
  type Item,
  N,
  num,
  numbers,
  nums,
  optional,
  pad,
  parts,
  S,
  text,
} from "../../../platform/dynamodb/sdk/attributes.ts";
import { shardCount } from "../../contract/points.ts";
import {
  type EntryType,
  eventName,
  type LedgerEntry,
  type MonthChange,
  parseEventName,
  type Snapshot,
  type Totals,
} from "../../rules/ledger.ts";

export const program: Codec<"program"> = {
  table: "points",
  key: (id) => ({ pk: S("P"), sk: S(id) }),
  encode: (value) => {
    const { reservationPause: pause, resumeTime, notices, monthEnd } = value;
    return {
      z: S(value.timeZone),
      l: numbers(value.lifetimes.flatMap((each) => [each.lifetimeMonths, each.effectiveTime])),
      t: N(value.createTime),
      ...(pause && { pt: N(pause.time), ...encodeCaller("pw", pause.caller) }),
      ...(pause?.reason && { pr: S(pause.reason) }),
      ...(resumeTime !== undefined && { pe: N(resumeTime) }),
      ...(notices && { ne: N(notices.expiryDays), ng: { BOOL: notices.reservedGrants } }),
      ...(monthEnd && { me: N(monthEnd.month), mf: N(monthEnd.failedCount) }),
    };
  },
  decode: (item) => {
    const pause = {
      time: num(item, "pt"),
      caller: decodeCaller(item, "pw"),
      reason: text(item, "pr"),
    };
    const notices = { expiryDays: num(item, "ne"), reservedGrants: item.ng?.BOOL === true };
    const monthEnd = { month: num(item, "me"), failedCount: num(item, "mf") };
    const flat = nums(item, "l");
    const lifetimes = [];
    for (let i = 0; i < flat.length; i += 2) {
      lifetimes.push({ lifetimeMonths: flat[i] as number, effectiveTime: flat[i + 1] as number });
    }
    return {
      programId: text(item, "sk"),
      timeZone: text(item, "z"),
      lifetimes,
      createTime: num(item, "t"),
      ...(item.pt && { reservationPause: pause }),
      ...(item.pe && { resumeTime: num(item, "pe") }),
      ...(item.ne && { notices }),
      ...(item.me && { monthEnd }),
    };
  },
};

/** The totals in their stored order, by names without the unit, which entries have, too. */
const totalNames = [
  "issued",
  "used",
  "expired",
  "refunded",
  "revoked",
  "held",
  "captured",
  "released",
] as const;

/** The number of totals that an account without holds has. */
const totalsWithoutHolds = 5;

const totalOf = (name: (typeof totalNames)[number]) => `${name}Points` as const;

function encodeTotals(totals: Totals): AttributeValue {
  const count = totals.heldPoints > 0 ? totalNames.length : totalsWithoutHolds;
  return numbers(totalNames.slice(0, count).map((name) => totals[totalOf(name)]));
}

function decodeTotals(stored: readonly number[]): Totals {
  const totals = stored.length === totalsWithoutHolds ? [...stored, 0, 0, 0] : stored;
  return Object.fromEntries(totalNames.map((name, i) => [totalOf(name), totals[i]])) as never;
}

export const account: Codec<"account"> = {
  table: "points",
  key: (id) => ({ pk: S(`A#${id}`), sk: S("A") }),
  encode: (value) => ({
    m: N(value.month),
    s: numbers(value.slots),
    T: encodeTotals(value.totals),
    n: N(value.last),
    t: N(value.time),
    ...(value.frozen && { f: { BOOL: true } }),
    ...(value.oldest !== undefined && {
      xp: S(expiryKey(value.programId, shardOf(value.userId, shardCount))),
      xm: N(value.oldest),
    }),
  }),
  decode: (item) => {
    const [, programId, userId] = parts(item, "pk") as [string, string, string];
    const oldest = optional(item, "xm");
    return {
      programId,
      userId,
      month: num(item, "m"),
      slots: nums(item, "s"),
      totals: decodeTotals(nums(item, "T")),
      frozen: item.f?.BOOL === true,
      last: num(item, "n"),
      time: num(item, "t"),
      ...(oldest !== undefined && { oldest }),
    };
  },
};

/** The hash key of the expiry index. */
export const expiryKey = (programId: string, shard: number): string => `${programId}#${shard}`;

const ledgerKey = (number: number): string => `L#${pad(number, 12)}`;

export const entry: Codec<"entry"> = {
  table: "points",
  key: (id) => {
    const at = id.lastIndexOf("#");
    return { pk: S(`A#${id.slice(0, at)}`), sk: S(ledgerKey(Number(id.slice(at + 1)))) };
  },
  encode: (value) => ({
    e: S(eventName(value.event)),
    ...encodeEntry(value),
    ...(value.snapshot && encodeSnapshot(value.snapshot)),
  }),
  decode: (item) => ({
    ...decodeEntry(item, Number(text(item, "sk").slice(2)), text(item, "e")),
    ...(item.st && { snapshot: decodeSnapshot(item) }),
  }),
};

export const event: Codec<"event"> = {
  table: "points",
  key: (id) => ({ pk: S(`K#${id}`), sk: S("K") }),
  encode: (value) => ({
    h: S(value.hash),
    n: N(value.entry.number),
    B: N(value.availablePoints),
    ...(value.reversedPoints > 0 && { u: N(value.reversedPoints) }),
    ...encodeEntry(value.entry),
  }),
  decode: (item) => ({
    hash: text(item, "h"),
    availablePoints: num(item, "B"),
    reversedPoints: num(item, "u"),
    entry: decodeEntry(item, num(item, "n"), parts(item, "pk").at(-1) as string),
  }),
};

function encodeEntry(value: LedgerEntry): Item {
  return {
    y: S(value.type),
    t: N(value.createTime),
    p: N(value.points),
    b: N(value.availablePoints),
    ...encodeCaller("w", value.caller),
    ...(value.effectiveTime !== value.createTime && { T: N(value.effectiveTime) }),
    ...(value.changes.length > 0 && { c: numbers(encodeChanges(value.changes)) }),
    ...(value.total && { a: S(value.total.replace("Points", "")) }),
    ...(value.frozen && { f: { BOOL: true } }),
    ...(value.reason !== "" && { r: S(value.reason) }),
    ...(value.cause && { o: S(value.cause) }),
    ...(value.expireTime !== undefined && { x: N(value.expireTime) }),
    ...(value.relatedEvent && { d: S(eventName(value.relatedEvent)) }),
  };
}

function decodeEntry(item: Item, number: number, name: string): LedgerEntry {
  const createTime = num(item, "t");
  const expireTime = optional(item, "x");
  const total = text(item, "a") as (typeof totalNames)[number] | "";
  return {
    number,
    type: text(item, "y") as EntryType,
    event: parseEventName(name),
    createTime,
    effectiveTime: optional(item, "T") ?? createTime,
    points: num(item, "p"),
    changes: decodeChanges(nums(item, "c")),
    ...(total !== "" && { total: totalOf(total) }),
    frozen: item.f?.BOOL === true,
    availablePoints: num(item, "b"),
    reason: text(item, "r"),
    ...(item.o && { cause: text(item, "o") }),
    caller: decodeCaller(item, "w"),
    ...(expireTime !== undefined && { expireTime }),
    ...(item.d && { relatedEvent: parseEventName(text(item, "d")) }),
  };
}

const encodeSnapshot = ({ months, totals }: Snapshot): Item => ({
  st: encodeTotals(totals),
  ...(months.length > 0 && { sm: numbers(encodeChanges(months)) }),
});

const decodeSnapshot = (item: Item): Snapshot => ({
  months: decodeChanges(nums(item, "sm")),
  totals: decodeTotals(nums(item, "st")),
});

/** The first month, then one delta for each month: shorter than a month and points for each. */
export function encodeChanges(changes: readonly MonthChange[]): number[] {
  const first = (changes[0] as MonthChange).month;
  const deltas = Array<number>((changes.at(-1) as MonthChange).month - first + 1).fill(0);
  for (const { month, points } of changes) deltas[month - first] = points;
  return [first, ...deltas];
}

export function decodeChanges([first = 0, ...deltas]: number[]): MonthChange[] {
  return deltas
    .map((points, i) => ({ month: first + i, points }))
    .filter(({ points }) => points !== 0);
}

export const testClock: Codec<"testClock"> = {
  table: "points",
  key: () => ({ pk: S("C"), sk: S("C") }),
  encode: ({ time }) => ({ t: N(time) }),
  decode: (item) => ({ time: num(item, "t") }),
};

export const lease: Codec<"lease"> = {
  table: "points",
  key: (name) => ({ pk: S(`H#${name}`), sk: S("H") }),
  encode: ({ holder, beat }) => ({ h: S(holder), b: N(beat) }),
  decode: (item) => ({ holder: text(item, "h"), beat: num(item, "b") }),
};
