/** The dependencies of programs and accounts: the ports that the composition root fills. */
import type * as acts from "../../acts/ports/deps.ts";
import type * as platform from "../../platform/ports/deps.ts";
import type { JobKind } from "../contract/jobs.ts";
import type { Job, JobName } from "../rules/jobs.ts";
import type { Program } from "../rules/program.ts";
import type { ExportDestinations, ExportFormat } from "./exports.ts";
import type { PointsReader, RemoveSnapshot } from "./points.ts";
import type { ProgramReader, Programs, RuleReporter } from "./programs.ts";

export interface Reader extends acts.Reader, ProgramReader, PointsReader {}

export interface Workflows extends platform.Workflows {
  /** Creates the monthly schedule of a program, or updates it if it differs. */
  ensureMonthEnd(program: Program): Promise<void>;
  /**
   * Creates the monthly schedule that notifies the members of a program of points that expire soon,
   * or updates it if it differs. Does nothing for a program without such notices: the run of a
   * schedule that exists notifies nobody.
   */
  ensureExpiryNotices(program: Program): Promise<void>;
  /**
   * Starts the workflow of a job unless it is running. One that has completed is started again only
   * if the job still has no result, as in a table that was restored from a backup: a verification
   * that has repaired accounts would find nothing the second time.
   */
  startJob(kind: JobKind, job: Job, hasResult: () => Promise<boolean>): Promise<void>;
  /** Whether the workflow of a job is running, and its sum so far. */
  jobProgress(
    kind: JobKind,
    name: JobName,
  ): Promise<{ readonly isRunning: boolean; readonly sum: object }>;
  /** Whether the latest run of a workflow runs, without the lag of lists. */
  isRunning(workflowId: string): Promise<boolean>;
}

export interface Deps extends acts.Deps {
  readonly programs: Programs;
  readonly removeSnapshot: RemoveSnapshot;
  readonly exportDestinations: ExportDestinations;
  readonly exportFormat: ExportFormat;
  readonly reporter: RuleReporter;
  readonly reader: Reader;
  readonly workflows: Workflows;
}
