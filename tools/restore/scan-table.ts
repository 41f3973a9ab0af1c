/** Works on all records of some kinds, in several parts of their table at a time. */

import { allPages } from "../../src/platform/ports/pages.ts";
import type { Scanned, ScannedKind, TableScan } from "../../src/store/scans.ts";

/** The number of parts of a table that are scanned concurrently. */
const segments = 4;

/** The number of items of one read. */
const pageSize = 500;

/** Calls `process` with each page of the records of these kinds, which lie in one table. */
export async function scanTable<K extends ScannedKind>(
  { scan }: TableScan,
  kinds: readonly K[],
  process: (records: readonly Scanned<K>[]) => Promise<void>,
): Promise<void> {
  const scanSegment = async (segment: number) => {
    const read = (page: { size: number; cursor: string | undefined }) =>
      scan(kinds, { segment, segments }, page);
    for await (const records of allPages(pageSize, read)) {
      if (records.length > 0) await process(records);
    }
  };
  await Promise.all(Array.from({ length: segments }, (_, segment) => scanSegment(segment)));
}

/** The records of one kind. */
export const ofKind = <K extends ScannedKind, One extends K>(
  records: readonly Scanned<K>[],
  kind: One,
): Scanned<One>[] => records.filter((record) => record.kind === kind) as never;
