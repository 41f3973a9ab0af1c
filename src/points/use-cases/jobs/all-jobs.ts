/** All kinds of jobs: a new one is added here, and as a workflow type. */
import { ledgerExport } from "./export-ledger.ts";
import type { JobType } from "./jobs.ts";
import { liabilityReport } from "./liability.ts";
import { verification } from "./verification.ts";

/** Their activities are the same, which get the name of the kind. */
export const allJobs: readonly JobType[] = [verification, liabilityReport, ledgerExport];
