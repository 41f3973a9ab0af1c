/** Reads the records of a table that may have changed since a time. */
import type { Instant } from "../../platform/words/month.ts";
import type { StoredRecord, StreamedTable } from "../ports/changes.ts";
import { type ItemsPage, type LedgerDeps, ledgersSince } from "./ledgers-since.ts";

/** The number of parts of a table that are scanned concurrently. */
const segments = 4;

/** The number of items of one read. */
const pageSize = 500;

/**
 * Yields a table page by page. Of `points` all programs, then the ledgers. Targets and
 * notifications have no time of their last change, so all of them are read.
 */
export const recordsSince = (
  deps: LedgerDeps,
  table: StreamedTable,
  since: Instant,
  from: string | undefined,
): AsyncGenerator<ItemsPage, void> =>
  table === "points" ? pointsSince(deps, since, from) : scannedSince(deps, table, since, from);

/** Programs are few: reading them begins anew when it was cut off. */
async function* pointsSince(
  deps: LedgerDeps,
  since: Instant,
  from: string | undefined,
): AsyncGenerator<ItemsPage, void> {
  let isDone = from !== undefined;
  for (let cursor: string | undefined; !isDone; isDone = cursor === undefined) {
    const page = await deps.recordScan.programs({ size: pageSize, cursor });
    cursor = page.cursor;
    yield { items: page.items, cursor: "{}" };
  }
  yield* ledgersSince(deps, since, from);
}

/** A segment of a table that is not read to its end. The log stores it as JSON. */
interface OpenSegment {
  readonly segment: number;
  readonly cursor?: string | undefined;
}

async function* scannedSince(
  { recordScan }: LedgerDeps,
  table: Exclude<StreamedTable, "points">,
  since: Instant,
  from: string | undefined,
): AsyncGenerator<ItemsPage, void> {
  let open: readonly OpenSegment[] =
    from === undefined
      ? Array.from({ length: segments }, (_, segment) => ({ segment }))
      : JSON.parse(from);
  while (open.length > 0) {
    const pages = await Promise.all(
      open.map(({ segment, cursor }) =>
        recordScan.items(table, { segment, segments }, { size: pageSize, cursor }),
      ),
    );
    open = open.flatMap(({ segment }, i) => {
      const cursor = pages[i]?.cursor;
      return cursor === undefined ? [] : [{ segment, cursor }];
    });
    const items = pages.flatMap((page) => page.items);
    yield {
      items: items.filter(({ records }) => !records || records.some(isSince(since))),
      cursor: open.length > 0 ? JSON.stringify(open) : undefined,
    };
  }
}

/** Whether a record may have changed since a time. A time that is damaged is NaN. */
const isSince = (since: Instant) => (record: StoredRecord) => {
  switch (record.kind) {
    case "reservation":
    case "hold":
    case "bulkGrant":
      return !(record.value.updateTime < since);
    default:
      return true;
  }
};
