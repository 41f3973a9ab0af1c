/** Writes and reads records in short calls, past the use cases. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { ItemStore, Write } from "../../../src/platform/engine/item-store.ts";
import {
  allPages,
  inBatches,
  type Page,
  type PageRequest,
} from "../../../src/platform/ports/pages.ts";
import type { Kind, Records, Ref } from "../../../src/platform/ports/records.ts";
import { firstVersion } from "./first-version.ts";

export const write = <K extends Kind>(ref: Ref<K>, value: Records[K], version = 0): Write => ({
  ref,
  op: "put",
  value,
  version,
  next: version > 0 ? version + 1 : firstVersion(ref.kind, value),
});

export const remove = (ref: Ref, version: number): Write => ({
  ref,
  op: "delete",
  value: undefined,
  version,
  next: 0,
});

export const check = (ref: Ref, version: number): Write => ({
  ref,
  op: "check",
  value: undefined,
  version,
  next: version,
});

/** All pages of a list. Expects that none is longer than `size`. */
export async function pages<T>(
  read: (page: PageRequest) => Promise<Page<T>>,
  size: number,
): Promise<T[][]> {
  const found: T[][] = [];
  for await (const items of allPages(size, read)) {
    expect(items.length).toBeLessThanOrEqual(size);
    found.push([...items]);
    // A list whose cursors never end.
    expect(found.length).toBeLessThanOrEqual(1_000);
  }
  return found;
}

export const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

/** Commits any number of writes, 100 in each transaction, again if an answer was lost. */
export async function fill(store: ItemStore, writes: readonly Write[]): Promise<void> {
  for (const batch of inBatches(writes, 100)) {
    const token = randomUUID();
    let result = await store.commit(batch, token);
    for (let tries = 1; result.kind === "unknown" && tries < 5; tries++) {
      result = await store.commit(batch, token);
    }
    expect(result).toEqual({ kind: "committed" });
  }
}
