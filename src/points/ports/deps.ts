/** The dependencies of programs and accounts: the ports that the composition root fills. */
import type * as platform from "../../platform/ports/deps.ts";
import type { RecordReader } from "../../platform/ports/records.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { LiabilityReport } from "../rules/liability.ts";
import type { Program } from "../rules/program.ts";
import type { Difference } from "../rules/rebuild.ts";
import type {
  ExportCall,
  ExportDestinations,
  ExportFormat,
  ExportName,
  LedgerExport,
} from "./exports.ts";
import type { PointsReader, RemoveSnapshot } from "./points.ts";
import type { ProgramReader, Programs, RuleReporter } from "./programs.ts";

export interface Reader extends RecordReader, ProgramReader, PointsReader {}

export interface Workflows extends platform.Workflows {
  /** Creates the monthly schedule of a program, or updates it if it differs. */
  ensureMonthEnd(program: Program): Promise<void>;
  /**
   * Creates the monthly schedule that notifies the members of a program of points that expire soon,
   * or updates it if it differs. Does nothing for a program without such notices: the run of a
   * schedule that exists notifies nobody.
   */
  ensureExpiryNotices(program: Program): Promise<void>;
  /** Starts the verification of a program, with or without repair, unless one is running. */
  startVerification(programId: string, repair: boolean): Promise<void>;
  /** The latest verification of a program, if there was any. */
  verification(programId: string): Promise<Verification | undefined>;
  /** Starts the run that adds up a liability report unless it is running. */
  startLiabilityReport(report: LiabilityReport): Promise<void>;
  /** Starts an export unless one with its id is running or complete. */
  startExport(call: ExportCall): Promise<void>;
  /** The latest run of an export, if there was any. */
  ledgerExport(name: ExportName): Promise<LedgerExport | undefined>;
  /** Whether the latest run of a workflow runs, without the lag of lists. */
  isRunning(workflowId: string): Promise<boolean>;
}

/** How far the verification of a program has come, and what it found. */
export interface Verification extends VerifiedAccounts {
  readonly workflowId: string;
  readonly startTime: Instant;
  readonly state: "RUNNING" | "DONE" | "FAILED";
  /** Whether the run repairs the accounts that differ. */
  readonly repair: boolean;
}

/** The accounts that were compared with their ledgers. */
export interface VerifiedAccounts {
  readonly accounts: number;
  /** The number of ledger entries that were read. */
  readonly entries: number;
  /** The number of accounts that differed from their ledgers before any repair. */
  readonly wrong: number;
  /** The number of accounts that were repaired. */
  readonly repaired: number;
  /** The first 100 accounts that differed. */
  readonly reports: readonly WrongAccount[];
  /** The number of accounts that could not be verified, or not be repaired. */
  readonly failed: number;
  /** The first 100 accounts that could not be verified or repaired, each with its reason. */
  readonly failures: readonly { readonly userId: string; readonly reason: string }[];
}

/** An account that differs from its ledger. */
interface WrongAccount {
  readonly userId: string;
  /** The first 20. */
  readonly differences: readonly Difference[];
  /** The number of further differences. */
  readonly unreported: number;
}
export interface Deps extends platform.Deps {
  readonly programs: Programs;
  readonly removeSnapshot: RemoveSnapshot;
  readonly exportDestinations: ExportDestinations;
  readonly exportFormat: ExportFormat;
  readonly reporter: RuleReporter;
  readonly reader: Reader;
  readonly workflows: Workflows;
}
