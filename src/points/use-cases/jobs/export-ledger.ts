/** The job that exports the ledgers and the acts of a program to files. */

import { DomainError } from "../../../platform/words/errors.ts";
import { quantity } from "../../../platform/words/quantities.ts";
import { type ExportedEntries, type ExportRequest, exportKind } from "../../contract/exports.ts";
import { lateEntriesMs } from "../../rules/ledger.ts";
import { writeActs } from "./export-acts.ts";
import {
  type ExportedFile,
  finishExport,
  folderOf,
  manifestOf,
  openExport,
  storeList,
  windowOf,
} from "./export-files.ts";
import { exportSegment } from "./export-segment.ts";
import type { JobFiles, JobType } from "./jobs.ts";

/** Refuses, with INVALID_REQUEST, an instant at which entries may still be recorded. */
export const ledgerExport: JobType<ExportedEntries, ExportRequest> = {
  kind: exportKind,
  makesFiles: true,

  check(deps, job) {
    folderOf(deps, job);
    const { start = 0, end } = job.request;
    if (start >= end) throw badEnd("after create_time_from");
    if (end > job.createTime - lateEntriesMs) {
      throw badEnd(`at least ${lateEntriesMs / 60_000} minutes ago`);
    }
  },

  begin: openExport,

  step: (deps, job, segment, _start, from, shouldContinue, warn) =>
    exportSegment(deps, job, segment, from, shouldContinue, warn),

  storeList: (deps, job, files) => storeList(deps, job, files as JobFiles<ExportedFile>),

  async finish(deps, job, sum, files) {
    // Another version may write acts in other bytes than those that a manifest lists.
    const acts =
      (await manifestOf(deps, job))?.acts ??
      (await writeActs(deps, folderOf(deps, job), job.programId, windowOf(job)));
    await finishExport(deps, job, sum, { ...(files as JobFiles<ExportedFile>), acts });
    const count = acts.parts.reduce((sum, { entries }) => sum + entries, 0);
    const listed = `The manifest is written. It lists ${quantity(count, "act")}, too`;
    if (acts.unreadable === 0) return `${listed}.`;
    return `${listed}, and names ${quantity(acts.unreadable, "act")} that could not be read.`;
  },
};

const badEnd = (message: string): DomainError =>
  new DomainError("INVALID_REQUEST", `create_time_before has to be ${message}`, {
    field: "create_time_before",
  });
