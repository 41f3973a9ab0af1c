/** Reads bulk grants in the store in memory, and keeps the rows of uploads. */
import type { BulkGrantReader, Numbered, SheetStore } from "../../../src/app/ports/bulk-grants.ts";
import type { Records } from "../../../src/app/ports/records.ts";
import type { SheetRow } from "../../../src/domain/sheet.ts";
import { rowsKey } from "../../../src/store/dynamodb/codecs/bulk-grants.ts";
import { encodeRows } from "../../../src/store/dynamodb/codecs/bulk-rows.ts";
import { itemSize } from "../../../src/store/dynamodb/sdk/item-size.ts";
import { allOf, pad, padBack, pageOf, type Sorted, type Stored, sortBack } from "./memory-pages.ts";
import { invalid } from "./memory-table.ts";

/** The limit of an item in bytes. */
const maxItemBytes = 400 * 2 ** 10;

interface MemoryBulkGrants {
  readonly sheets: SheetStore;
  readonly reads: BulkGrantReader;
}

/** Deletes checks and outcomes in `records`; the rows are kept beside them. */
export function createBulkGrants(records: Map<string, Stored>): MemoryBulkGrants {
  const blocks = new Map<string, readonly SheetRow[]>();
  return {
    sheets: {
      async putBlock(uploadId, block, rows) {
        const bytes = itemSize({ ...rowsKey(uploadId, block), ...encodeRows(rows) });
        if (bytes > maxItemBytes) throw invalid(`${bytes} bytes in one item`);
        blocks.set(`${uploadId}#${block}`, structuredClone(rows));
      },

      async deleteRows(uploadId) {
        for (const name of blocks.keys()) {
          if (name.startsWith(`${uploadId}#`)) blocks.delete(name);
        }
        for (const [name, { ref }] of records) {
          const isOfBlock = ref.kind === "blockCheck" || ref.kind === "blockOutcome";
          if (isOfBlock && ref.id.startsWith(`${uploadId}#`)) records.delete(name);
        }
      },
    },
    reads: {
      ...bulkGrantReads(records),
      rowsOfBlock: async (uploadId, block) =>
        structuredClone(blocks.get(`${uploadId}#${block}`) ?? []),
    },
  };
}

function bulkGrantReads(
  records: ReadonlyMap<string, Stored>,
): Omit<BulkGrantReader, "rowsOfBlock"> {
  return {
    async bulkGrants({ programId, state, start, end }, page) {
      const list = allOf(records, "bulkGrant")
        .filter(
          (record) => record.programId === programId && (state ?? record.state) === record.state,
        )
        .filter(({ createTime }) => createTime >= (start ?? 0))
        .filter(({ createTime }) => end === undefined || createTime < end)
        .map((record) => ({
          sort: `${padBack(record.createTime)}#${sortBack(record.bulkGrantId)}`,
          record,
        }));
      return pageOf(`bulk grants ${programId}#${state}`, list, page);
    },

    blockChecks: async (uploadId, page) =>
      pageOf(`checks ${uploadId}`, numbered(records, "blockCheck", uploadId), page),

    blockOutcomes: async (uploadId, page) =>
      pageOf(`outcomes ${uploadId}`, numbered(records, "blockOutcome", uploadId), page),

    pendingUploads: async (page) =>
      pageOf(
        "pending uploads",
        allOf(records, "pendingUpload").map((record) => ({ sort: record.uploadId, record })),
        page,
      ),

    ruleChanges: async (programId, page) =>
      pageOf(`rules ${programId}`, ruleChangesOf(records, programId), page),
  };
}

/** The changes of a program's rules, each to be sorted before the one that it follows. */
const ruleChangesOf = (records: ReadonlyMap<string, Stored>, programId: string) =>
  [...records.values()]
    .filter(
      ({ ref: { kind, id } }) =>
        (kind === "bulkRules" && id === programId) ||
        (kind === "earlierBulkRules" && id.startsWith(`${programId}#`)),
    )
    .map(({ value }) => value as Records["bulkRules"])
    .map((record) => ({ sort: padBack(record.number), record }));

/** The records of an upload, each with the number of its block. */
const numbered = <K extends "blockCheck" | "blockOutcome">(
  records: ReadonlyMap<string, Stored>,
  kind: K,
  uploadId: string,
): Sorted<Numbered<Records[K]>>[] =>
  [...records.values()]
    .filter(({ ref }) => ref.kind === kind && ref.id.startsWith(`${uploadId}#`))
    .map(({ ref, value }) => {
      const block = Number(ref.id.split("#")[1]);
      return { sort: pad(block), record: { ...(value as Records[K]), block } };
    });
