/** A program together with its rules for bulk grants, as readers get them. */

import type { Instant } from "../../../platform/words/month.ts";
import {
  type RuleChange,
  type RuleChangeState,
  ruleChangeState,
  rulesAt,
} from "../../rules/bulk-rule-changes.ts";
import { type BulkRules, isLowering } from "../../rules/bulk-rules.ts";
import type { Program } from "../../rules/program.ts";
import { programEtag, ruleChangeDigest } from "./etag.ts";

/** A program, the rules in force, and the latest change of them. */
export interface RuledProgram {
  readonly program: Program;
  readonly bulkRules: BulkRules;
  /** Absent while the rules are the default ones. */
  readonly ruleChange: ShownRuleChange | undefined;
  readonly etag: string;
}

/** A change of bulk rules, and what follows from it. */
export interface ShownRuleChange extends RuleChange {
  readonly state: RuleChangeState;
  readonly isLowering: boolean;
  /** Names the change for an approval. */
  readonly digest: string;
}

/** Returns a program with what its latest change of the rules says at `now`. */
export const ruledProgram = (
  program: Program,
  change: RuleChange | undefined,
  now: Instant,
): RuledProgram => ({
  program,
  bulkRules: rulesAt(change, now),
  ruleChange: change && shownRuleChange(program.programId, change, now),
  etag: programEtag(program, change),
});

export const shownRuleChange = (
  programId: string,
  change: RuleChange,
  now: Instant,
): ShownRuleChange => ({
  ...change,
  state: ruleChangeState(change, now),
  isLowering: isLowering(change.from, change.to),
  digest: ruleChangeDigest(programId, change),
});
