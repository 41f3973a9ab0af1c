/** An act: who changed something by a method that is audited, and the fields that it has set. */
import type { Audit } from "../../platform/words/audit.ts";
import { cutToBytes } from "../../platform/words/display-text.ts";
import type { Instant } from "../../platform/words/month.ts";

/** A field that a change has set, with its values as texts; empty where there is none. */
export interface FieldChange {
  readonly field: string;
  readonly before: string;
  readonly after: string;
}

/** What a change has changed, and why. */
export interface Changed {
  readonly programId: string;
  readonly objectType:
    | "program"
    | "account"
    | "reservation"
    | "reservations"
    | "bulk_grant"
    | "job";
  readonly objectId: string;
  /** The user whose account or reservation it is. */
  readonly userId?: string | undefined;
  readonly changes: readonly FieldChange[];
  /** Empty for no reason. */
  readonly reason: string;
}

/** An act. It is written once, with the change, and never changed. */
export interface Act extends Changed, Audit {
  readonly time: Instant;
}

/** The bounds of what an act keeps of a change, so that it has little more than 2 KB. */
export const maxChanges = 8;
const maxTextBytes = 128;

/** The values of an object by the names of their fields. A value that is absent is no text. */
type Values = Readonly<Record<string, unknown>>;

/** Returns the fields whose texts differ between two states, in the order of `after`. */
export function fieldChanges(before: Values, after: Values): FieldChange[] {
  return Object.keys(after)
    .map((field) => ({ field, before: textOf(before[field]), after: textOf(after[field]) }))
    .filter(({ before, after }) => before !== after)
    .slice(0, maxChanges)
    .map(cutChange);
}

/** Cuts the texts of a change. Where they differ behind that only, both begin at the difference. */
export function cutChange({ field, before, after }: FieldChange): FieldChange {
  if (cut(before) !== cut(after)) return { field, before: cut(before), after: cut(after) };
  const [from, to] = [[...before], [...after]];
  const differing = to.findIndex((character, i) => character !== from[i]);
  const start = differing < 0 ? to.length : differing;
  const rest = (characters: string[]) => cut(`…${characters.slice(start).join("")}`);
  return { field, before: rest(from), after: rest(to) };
}

function textOf(value: unknown): string {
  if (value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const cut = (text: string): string => cutToBytes(text, maxTextBytes);
