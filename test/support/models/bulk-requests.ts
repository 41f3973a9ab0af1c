/** The requests to bulk grants and their answers, as use cases and oracle get and give them. */
import type { BulkGrantState } from "../../../src/domain/bulk-grant.ts";
import type { BulkRules } from "../../../src/domain/bulk-rules.ts";
import type { RowCode } from "../../../src/domain/sheet.ts";

/** A row as a message has it. */
export interface Raw {
  readonly userId: string;
  readonly points: number;
  readonly reason: string;
}

/** A range of blocks; with `limit` the work stops after so many of them. */
interface Blocks {
  readonly id: string;
  readonly revision: number;
  readonly from: number;
  readonly to: number;
  readonly limit: number;
}

interface Submitted {
  readonly id: string;
  readonly by: string;
  readonly executeTime: number | undefined;
}

export type Request =
  | ({
      readonly op: "submit";
      readonly rows: readonly Raw[];
      /** Set: the revision that this one replaces, even with the same content. */
      readonly replaces?: number | undefined;
    } & Submitted)
  | ({ readonly op: "reverse"; readonly reverses: string } & Submitted)
  | ({ readonly op: "validate" } & Blocks)
  | { readonly op: "complete"; readonly id: string; readonly revision: number }
  | {
      readonly op: "approve";
      readonly id: string;
      readonly by: string;
      /** The revision whose digest is named; 0: a digest that no revision has. */
      readonly revision: number;
    }
  | {
      readonly op: "reject" | "cancel" | "pause" | "resume" | "retry";
      readonly id: string;
      readonly by: string;
    }
  | { readonly op: "advance"; readonly id: string }
  | { readonly op: "remind" | "report"; readonly id: string }
  | ({
      readonly op: "run";
      readonly run: number;
      /** Set: the worker dies when it has executed so many rows. */
      readonly diesAfter?: number | undefined;
    } & Blocks)
  | { readonly op: "finish"; readonly id: string; readonly run: number }
  | { readonly op: "freeze" | "unfreeze"; readonly userId: string }
  | { readonly op: "grant" | "use"; readonly userId: string; readonly points: number }
  | { readonly op: "rules"; readonly rules: BulkRules };

export interface Counts {
  readonly grantedCount: number;
  readonly grantedPoints: number;
  readonly failedCount: number;
}

/** What a record shows, without its digest and its actions. */
export interface Head {
  readonly state: BulkGrantState;
  readonly revision: number;
  readonly rowCount: number;
  readonly totalPoints: number;
  readonly requiredApprovalCount: number;
  readonly submitter: string;
  readonly approvedBy: readonly string[];
  readonly paused: boolean;
  readonly cancelling: boolean;
  readonly run: number;
  readonly executeTime: number | undefined;
  readonly exceededMaxTotalPoints: number | undefined;
  readonly reverses: string | undefined;
  readonly sameContentBulkGrantId: string | undefined;
  readonly invalidCount: number | undefined;
  readonly alreadyGrantedCount: number | undefined;
  readonly alreadyGrantedPoints: number | undefined;
  readonly result: Result | undefined;
  readonly lastAction: string | undefined;
}

export interface Result extends Counts {
  readonly notRunCount: number;
  readonly problemCounts: Readonly<Partial<Record<RowCode, number>>>;
}

/** A row with its state and the codes of its problems. */
export type ShownRow = readonly [line: number, userId: string, state: string, ...RowCode[]];

/** A bulk grant with its progress and its rows. */
export interface Shown {
  readonly head: Head;
  readonly progress: Counts;
  readonly rows: readonly ShownRow[];
  /** The blocks that the validation or the run under way has done. No caller sees them. */
  readonly blocksDone: readonly number[];
}

export type Answer =
  | { readonly refused: string }
  /** Submitted: the revision that has the content, and whether it had it before. */
  | { readonly head: Head; readonly revision?: number; readonly replayed?: boolean }
  | { readonly head: Head; readonly step: string; readonly waitMs: number | undefined }
  | { readonly next: number | undefined; readonly stopped: boolean; readonly counts?: Counts }
  | { readonly done: true }
  /** An error that is no refusal. */
  | { readonly failed: true };
