/**
 * The oracles of all explanations of what an owner was answered and shown. Concurrent requests may
 * have several, such as two orders after one of which an unread notification takes in nobody new.
 * What comes later tells which of them is right.
 */
import { deepStrictEqual } from "node:assert";
import { isDeepStrictEqual } from "node:util";
import type { Oracle } from "./reactions-oracle.ts";

/** The candidates by which `seen` was expected. Fails if there is none. */
export function keepRight<C, T>(
  candidates: readonly C[],
  seen: T,
  expectedOf: (candidate: C) => T,
  message?: string,
): readonly C[] {
  const expected = candidates.map(expectedOf);
  const right = candidates.filter((_, i) => isDeepStrictEqual(seen, expected[i]));
  if (right.length === 0) deepStrictEqual(seen, expected[0], message);
  return right;
}

/** Those that differ in more than the order of their lists. */
export function distinct(oracles: readonly Oracle[]): Oracle[] {
  if (oracles.length < 2) return [...oracles];
  const byText = new Map(oracles.map((each) => [sortedText(JSON.parse(each.text())), each]));
  return [...byText.values()];
}

/** A state as text in which the order of lists does not count: of none it has a meaning. */
function sortedText(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(sortedText).sort().join()}]`;
  const entries = Object.entries(value).map(([key, each]) => `${key}:${sortedText(each)}`);
  return `{${entries.sort().join()}}`;
}
