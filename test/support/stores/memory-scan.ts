/** Scans of the store in memory. */
import type { Ref } from "../../../src/app/ports/records.ts";
import type { Scanned, ScannedKind, TableScan } from "../../../src/app/ports/scans.ts";
import { shardOf } from "../../../src/store/dynamodb/codecs/codec.ts";
import { nameOf } from "../../../src/store/engine/item-store.ts";
import { pageOf, type Stored } from "./memory-pages.ts";

export const createScan = (records: ReadonlyMap<string, Stored>): TableScan => ({
  async scan<K extends ScannedKind>(
    kinds: readonly K[],
    { segment, segments }: { readonly segment: number; readonly segments: number },
    page: { readonly size: number; readonly cursor: string | undefined },
  ) {
    const list = [...records.values()]
      .filter(({ ref }: { readonly ref: Ref }) => kinds.includes(ref.kind as K))
      .map(({ ref, value }) => ({ sort: nameOf(ref), record: { ...ref, value } as Scanned<K> }))
      .filter(({ sort }) => shardOf(sort) % segments === segment);
    return pageOf(`scan of ${kinds}`, list, page);
  },
});
