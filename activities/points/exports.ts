/** The activities that write the ledger entries of a program to files. */
import { log } from "@temporalio/activity";
import type { Deps } from "../../src/hub/deps.ts";
import type {
  ExportAsked,
  ExportOpened,
  ExportSegmentInput,
  ExportSegmentResult,
  FinishExportInput,
  KeepPartInput,
} from "../../src/points/contract/exports.ts";
import type { ExportManifest, ExportRequest } from "../../src/points/ports/exports.ts";
import { finishExport, keepPart, openExport } from "../../src/points/use-cases/export-files.ts";
import {
  type ExportPlace,
  type ExportStep,
  exportSegment,
} from "../../src/points/use-cases/export-segment.ts";
import { steps } from "../../workflows/timing.ts";
import { check } from "../checks.ts";
import { camelCased, snakeCased } from "../spelling.ts";
import { heartbeatWhile, runStep } from "../steps.ts";
import { withScanLock } from "./scan-locks.ts";

const asked = {
  program_id: "string",
  export_id: "string",
  destination: "string",
  create_time_from: "number?",
  create_time_before: "number",
};

export function exportActivities(deps: Deps) {
  return {
    /** Returns the counts of an export that is complete; else begins it with an empty folder. */
    async openExport(input: ExportAsked): Promise<ExportOpened> {
      const manifest = await heartbeatWhile(openExport(deps, toRequest(check(input, asked))));
      if (!manifest) return {};
      const { entries, unreadable, unreadables } = manifest;
      const bytes = manifest.parts.reduce((sum, part) => sum + part.bytes, 0);
      const counts = { entries, parts: manifest.parts.length, bytes, unreadable, unreadables };
      return { complete: snakeCased(counts) };
    },

    /** Writes the entries of a segment to one file, for one step, when the run has the lock. */
    async exportSegment(input: ExportSegmentInput): Promise<ExportSegmentResult> {
      const numbers = { segment: "number", segments: "number", cursor: "string?" };
      const { segment, segments, cursor } = check(input, { ...asked, ...numbers });
      const request = { ...toRequest(input), segment, segments };
      const { programId, exportId } = request;
      const onUnreadable = (entry: object, err: unknown) =>
        log.warn("a ledger entry could not be read", { programId, exportId, ...entry, err });
      return withScanLock(deps, { programId, kind: "export-ledger" }, () =>
        runStep<ExportPlace, ExportStep>(
          cursor === undefined ? {} : { cursor },
          (from, shouldContinue) =>
            exportSegment(deps, request, from, shouldContinue, onUnreadable),
          steps.exportMs,
        ),
      );
    },

    /** Gives the file of a step its name. May be repeated. */
    async keepPart(input: KeepPartInput): Promise<void> {
      const { from, to } = check(input, { ...asked, from: "string", to: "string" });
      await keepPart(deps, toRequest(input), from, to);
    },

    /** Writes the manifest. May be repeated. */
    async finishExport(input: FinishExportInput): Promise<void> {
      const { parts, report } = check(input, { ...asked, parts: "object", report: "object" });
      const { destination, ...request } = toRequest(input);
      const { entries, unreadable, unreadables } = camelCased<CamelReport>(report);
      const manifest: ExportManifest = { ...request, entries, parts, unreadable, unreadables };
      await heartbeatWhile(finishExport(deps, destination, manifest));
    },
  };
}

type CamelReport = Pick<ExportManifest, "entries" | "unreadable" | "unreadables">;

const toRequest = (input: ExportAsked): ExportRequest => ({
  programId: input.program_id,
  exportId: input.export_id,
  destination: input.destination,
  window: { start: input.create_time_from, end: input.create_time_before },
});
