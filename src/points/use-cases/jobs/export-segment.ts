/** One step of an export: writes entries of the accounts of a segment to one file. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pLimit from "p-limit";
import { DomainError } from "../../../platform/words/errors.ts";
import { maxReports } from "../../../platform/words/quantities.ts";
import type { ExportedEntries, UnreadableEntry } from "../../contract/exports.ts";
import type { Deps } from "../../ports/deps.ts";
import type { ExportWindow } from "../../ports/exports.ts";
import type { StoredEntry } from "../../ports/points.ts";
import type { AccountsCursor } from "../sweep-accounts.ts";
import { compressLines } from "./compress-lines.ts";
import { type ExportedFile, type ExportJob, folderOf, windowOf } from "./export-files.ts";
import { windowReader } from "./export-window.ts";
import type { Segment, StepResult, Warn } from "./jobs.ts";

/** A file ends at the first page behind this size, in compressed bytes. It is kept in memory. */
const maxBytes = 16 * 2 ** 20;

/** The files of all steps of this process have this size. With many steps, each has its share. */
const maxBytesOfAll = 64 * 2 ** 20;

/** Further steps fail, and Temporal tries them again, here or on another worker. */
const maxSteps = 128;
let running = 0;

/**
 * This process reads and compresses 8 pages for exports at a time. Its steps take turns after each
 * page, so that a short export does not wait for long ones, nor a step for longer than its timeout.
 */
const inTurn = pLimit(8);

/** The result of a step: the counts of the entries, and the file with them. */
type ExportStep = StepResult<ExportedEntries> & { readonly file?: ExportedFile | undefined };

/**
 * Writes the entries of a segment from a cursor on, until `shouldContinue` returns false. It is
 * called after every page, with the cursor from which another call could continue instead: while
 * nothing was found the cursor moves on, and then it stays, because what was found is only written
 * at the end. Between the pages it rests for as long as the last one took, so that a store that has
 * become slow gets fewer reads. Throws the refusals of the destination, the error of an outage, and
 * OVERLOADED while this process has too many steps.
 */
export async function exportSegment(...step: Parameters<typeof writeSegment>): Promise<ExportStep> {
  if (running >= maxSteps) {
    throw new DomainError("OVERLOADED", `this worker exports ${maxSteps} segments already`);
  }
  running += 1;
  try {
    return await writeSegment(...step);
  } finally {
    running -= 1;
  }
}

async function writeSegment(
  deps: Pick<Deps, "reader" | "exportDestinations" | "exportFormat">,
  job: ExportJob,
  segment: Segment,
  from: AccountsCursor,
  shouldContinue: (from: AccountsCursor) => boolean,
  warn: Warn,
): Promise<ExportStep> {
  const { programId } = job;
  const window = windowOf(job);
  const folder = folderOf(deps, job);
  const read = windowReader(deps, programId, window, segment);
  const lines = compressLines();
  const unreadables: UnreadableEntry[] = [];
  let { cursor } = from;
  let unchanged: AccountsCursor = from;
  const addPage = async (): Promise<number> => {
    const started = performance.now();
    const page = await read(cursor);
    const tookMs = performance.now() - started;
    const found = page.items.filter((each) => isWithin(each, window));
    await lines.add(
      found.flatMap((each) => {
        try {
          return [lineOf(deps, programId, each)];
        } catch (error) {
          const unreadable = { userId: each.userId, number: each.number };
          unreadables.push(unreadable);
          warn("a ledger entry could not be read", { ...unreadable, err: error });
          return [];
        }
      }),
    );
    cursor = page.cursor;
    return tookMs;
  };
  for (;;) {
    const tookMs = await inTurn(addPage);
    if (lines.count === 0 && unreadables.length === 0) unchanged = placeAt(cursor);
    const share = Math.min(maxBytes, maxBytesOfAll / running);
    const isFull = lines.bytes >= share || unreadables.length >= maxReports;
    if (cursor === undefined || isFull || !shouldContinue(unchanged)) break;
    await sleep(tookMs);
  }
  const unread = {
    ...placeAt(cursor),
    unreadable: unreadables.length,
    unreadables: unreadables.slice(0, maxReports),
  };
  if (lines.count === 0) return { ...unread, entries: 0, parts: 0, bytes: 0 };
  const { content, ...part } = await lines.end(`.${randomUUID()}.unfinished`);
  await folder.write(part.name, content);
  const { entries, bytes } = part;
  return { ...unread, entries, bytes, parts: 1, file: { segment: segment.segment, ...part } };
}

const placeAt = (cursor: string | undefined): AccountsCursor =>
  cursor === undefined ? {} : { cursor };

/** Whether an entry is to be exported; of what cannot be read nobody knows when it was recorded. */
const isWithin = ({ entry }: StoredEntry, { start, end }: ExportWindow): boolean =>
  !entry || (entry.createTime >= (start ?? 0) && entry.createTime < end);

function lineOf(
  { exportFormat }: Pick<Deps, "exportFormat">,
  programId: string,
  { userId, entry, error }: StoredEntry,
): string {
  if (!entry) throw error;
  return exportFormat.line({ programId, userId }, entry);
}
