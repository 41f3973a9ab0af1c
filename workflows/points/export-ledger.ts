/** The workflow that writes the ledger entries of a program to files. */
import {
  continueAsNew,
  defineQuery,
  proxyActivities,
  setCurrentDetails,
  setHandler,
} from "@temporalio/workflow";
import type { Activities } from "../../activities/index.ts";
import { counted } from "../../src/platform/words/counted.ts";
import { escapeMarkdown } from "../../src/platform/words/markdown.ts";
import {
  addStep,
  type ExportAsked,
  type ExportedPart,
  type ExportLedgerInput,
  type ExportReport,
  type ExportSegmentLeft,
  emptyExport,
  exportQuery,
  exportSegments,
  partName,
} from "../../src/points/contract/exports.ts";
import { orRefusal, requireTexts } from "../failures.ts";
import { workOn } from "../parts.ts";
import { sweepTiming } from "../timing.ts";

/** Returns the counts so far. */
export const report = defineQuery<ExportReport>(exportQuery);

const { exportSegment } = proxyActivities<Activities>(sweepTiming.exportSegment);
const { openExport, finishExport } = proxyActivities<Activities>(sweepTiming.exportFiles);
const { keepPart } = proxyActivities<Activities>(sweepTiming.keepPart);

/**
 * Writes the entries segment by segment. Each step writes one file under a name of its attempt; the
 * result that the history has is the one whose file becomes a part, so that an attempt that was
 * repeated, or goes on after its time, leaves no second one. The manifest is written last.
 */
export async function exportLedger(input: ExportLedgerInput): Promise<ExportReport> {
  requireTexts(input, ["program_id"]);
  const { so_far, ...asked } = input;
  let total = so_far?.report ?? emptyExport;
  setHandler(report, () => total);
  if (!so_far) {
    setCurrentDetails(escapeMarkdown(openingOf(asked)));
    const { complete } = await orRefusal(openExport(asked));
    if (complete) {
      total = complete;
      setCurrentDetails("It was complete already: its manifest was there.");
      return total;
    }
  }
  const parts: ExportedPart[] = [...(so_far?.parts ?? [])];
  const numbers = new Map<number, number>();
  for (const { name } of parts) {
    const segment = Number(name.split("-")[1]);
    numbers.set(segment, (numbers.get(segment) ?? 0) + 1);
  }
  const segments: readonly ExportSegmentLeft[] =
    so_far?.segments ?? Array.from({ length: exportSegments }, (_, segment) => ({ segment }));
  const left = await workOn(segments, exportSegments, async (place) => {
    const { segment } = place;
    const step = await orRefusal(exportSegment({ ...asked, segments: exportSegments, ...place }));
    if (step.part) {
      const number = (numbers.get(segment) ?? 0) + 1;
      numbers.set(segment, number);
      const name = partName(segment, number);
      await orRefusal(keepPart({ ...asked, from: step.part.name, to: name }));
      parts.push({ ...step.part, name });
    }
    total = addStep(total, step);
    setCurrentDetails(escapeMarkdown(detailsOf(total)));
    return step.cursor;
  });
  if (left.length > 0) {
    const so_far = { report: total, parts, segments: left };
    await continueAsNew<typeof exportLedger>({ ...asked, so_far });
  }
  parts.sort((a, b) => (a.name < b.name ? -1 : 1));
  await orRefusal(finishExport({ ...asked, parts, report: total }));
  setCurrentDetails(escapeMarkdown(`${detailsOf(total)} The manifest is written.`));
  return total;
}

const openingOf = ({ destination }: ExportAsked): string =>
  `Opens the destination ${destination}. While this is shown, the pending activity has what ` +
  "fails; it is tried again until the destination can be written.";

/** An operator reads the first ones here; the manifest has 100. */
const maxNamed = 20;

function detailsOf({ entries, parts, bytes, unreadable, unreadables }: ExportReport): string {
  const named = unreadables.slice(0, maxNamed).map(({ user_id, number }) => `${user_id} ${number}`);
  const names = named.length > 0 ? `: ${named.join(", ")}` : "";
  return (
    `Exported ${counted(entries, "entry", "entries")} in ${counted(parts, "part")} of ` +
    `${counted(bytes, "byte")}; ` +
    `${unreadable} could not be read${names}.`
  );
}
