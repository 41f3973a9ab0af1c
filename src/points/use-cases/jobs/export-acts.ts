/** Writes the acts of a program within the window of an export to files. */

import type { Act } from "../../../acts/rules/act.ts";
import { listActs } from "../../../acts/use-cases/acts.ts";
import { allPages, type PageRequest } from "../../../platform/ports/pages.ts";
import { maxReports } from "../../../platform/words/quantities.ts";
import type { Deps } from "../../ports/deps.ts";
import type {
  ExportedActs,
  ExportedPart,
  ExportFolder,
  ExportWindow,
} from "../../ports/exports.ts";
import { compressLines } from "./compress-lines.ts";

/** The most acts of a file, some 10 MB before they are compressed. */
const maxActs = 20_000;

const pageSize = 1_000;

/** The clocks of servers differ, so an act of a program may look older than the program. */
const clockMarginMs = 86_400_000;

/**
 * Writes the acts, the newest first, and returns the files. Those that cannot be read are named,
 * because one of them would fail each attempt. No act of the window is recorded or changed any
 * more, so a repetition writes the same files.
 */
export async function writeActs(
  deps: Pick<Deps, "reader" | "clock" | "programs" | "exportFormat">,
  folder: ExportFolder,
  programId: string,
  { start = 0, end }: ExportWindow,
): Promise<ExportedActs> {
  const parts: ExportedPart[] = [];
  const write = async (acts: readonly Act[]) => {
    const lines = compressLines();
    await lines.add(acts.map(deps.exportFormat.actLine));
    const { content, ...part } = await lines.end(fileName(parts.length + 1));
    await folder.write(part.name, content);
    parts.push(part);
  };
  // The days before the program have no acts, and each of them would cost a read.
  const { createTime } = await deps.programs.get(programId);
  const window = { start: Math.max(start, createTime - clockMarginMs), end };
  const unreadable: string[] = [];
  const read = async (page: PageRequest) => {
    const found = await listActs(deps, { programId, window }, page);
    unreadable.push(...found.unreadable);
    return found;
  };
  let pending: Act[] = [];
  for await (const acts of allPages(pageSize, read)) {
    pending.push(...acts);
    if (pending.length < maxActs) continue;
    await write(pending.slice(0, maxActs));
    pending = pending.slice(maxActs);
  }
  if (pending.length > 0) await write(pending);
  return {
    parts,
    unreadable: unreadable.length,
    unreadables: unreadable.slice(0, maxReports),
  };
}

const fileName = (number: number): string => `acts-${String(number).padStart(6, "0")}.jsonl.gz`;
