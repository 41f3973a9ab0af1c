/** A program together with its rules, as readers get them. */

import type { Instant } from "../../../platform/words/month.ts";
import type { BulkRules } from "../../rules/bulk-rules.ts";
import type { Program } from "../../rules/program.ts";
import { isDelayed } from "../../rules/program-rules.ts";
import {
  bulkRulesAfter,
  finalApprovalTime,
  type RuleChange,
  type RuleChangeState,
  ruleChangeState,
} from "../../rules/rule-changes.ts";
import { programEtag, ruleChangeDigest } from "./etag.ts";

/** A program, the rules for bulk grants in force, and the latest change of its rules. */
export interface RuledProgram {
  readonly program: Program;
  readonly bulkRules: BulkRules;
  /** Absent while the rules are those of the program's creation, unless it was given some. */
  readonly ruleChange: ShownRuleChange | undefined;
  readonly etag: string;
}

/** A change of rules, and what follows from it. */
export interface ShownRuleChange extends RuleChange {
  readonly state: RuleChangeState;
  readonly delayed: boolean;
  readonly finalApprovalTime: Instant;
  /** Names the change for an approval. */
  readonly digest: string;
}

/** Returns a program with what its latest change of the rules says. */
export const ruledProgram = (program: Program, change: RuleChange | undefined): RuledProgram => ({
  program,
  bulkRules: bulkRulesAfter(change),
  ruleChange: change && shownRuleChange(program.programId, change),
  etag: programEtag(program, change),
});

export const shownRuleChange = (programId: string, change: RuleChange): ShownRuleChange => ({
  ...change,
  state: ruleChangeState(change),
  delayed: isDelayed(change.from, change.to),
  finalApprovalTime: finalApprovalTime(change),
  digest: ruleChangeDigest(programId, change),
});
