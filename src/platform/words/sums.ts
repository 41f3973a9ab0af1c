/** Adds up what the steps of long work have counted. */
import { maxReports } from "./quantities.ts";

/**
 * Returns the sum of two counts of the same form: numbers are added, and so are whole numbers as
 * decimals, which may exceed the safe integers; of lists the first 100 items are kept; objects are
 * added name by name. A name that only one of them has stays as it is. Throws a SyntaxError when a
 * text is no whole number.
 */
export function addCounts<T extends object>(total: T, next: T): T {
  const sum = { ...total } as Record<string, unknown>;
  for (const [name, value] of Object.entries(next)) sum[name] = added(sum[name], value);
  return sum as T;
}

function added(total: unknown, next: unknown): unknown {
  if (typeof next === "number") return ((total as number | undefined) ?? 0) + next;
  if (typeof next === "string")
    return String(BigInt((total as string | undefined) ?? 0) + BigInt(next));
  if (Array.isArray(next))
    return [...((total as unknown[] | undefined) ?? []), ...next].slice(0, maxReports);
  return next === undefined
    ? total
    : addCounts((total as object | undefined) ?? {}, next as object);
}
