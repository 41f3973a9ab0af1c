/** The use cases by which people approve and reject changes of a program's bulk rules. */

import type { Call } from "../../../platform/ports/call.ts";
import { DomainError } from "../../../platform/words/errors.ts";
import type { Deps } from "../../ports/deps.ts";
import type { RuleChangeReport } from "../../ports/programs.ts";
import { bulkRulesRef, programRef } from "../../ports/records.ts";
import { approveRules, rejectRules } from "../../rules/bulk-rule-changes.ts";
import { programNotFound } from "./change-program.ts";
import { ruleChangeDigest } from "./etag.ts";
import { type RuledProgram, ruledProgram } from "./ruled-program.ts";

/** Which change of which program is decided, by whom, and why. */
interface RuleDecision extends Call {
  readonly programId: string;
  /** Names the change: see `ruleChangeDigest`. */
  readonly digest: string;
  readonly reason: string;
}

type DecisionDeps = Pick<Deps, "engine" | "background" | "reporter">;

/**
 * Approves the change of the rules with this digest. Repeated by the same person it changes
 * nothing. Refusals: those of `approveRules`, DIGEST_MISMATCH, PROGRAM_NOT_FOUND.
 */
export const approveBulkRules = (deps: DecisionDeps, input: RuleDecision): Promise<RuledProgram> =>
  decideRules(deps, input, approveRules);

/**
 * Rejects the change of the rules with this digest, or cancels it while it waits. Repeated it
 * changes nothing. Refusals: those of `rejectRules`, DIGEST_MISMATCH, PROGRAM_NOT_FOUND.
 */
export const rejectBulkRules = (deps: DecisionDeps, input: RuleDecision): Promise<RuledProgram> =>
  decideRules(deps, input, rejectRules);

async function decideRules(
  deps: DecisionDeps,
  input: RuleDecision,
  decide: typeof approveRules,
): Promise<RuledProgram> {
  const { programId, digest, caller, reason } = input;
  const ref = bulkRulesRef(programId);
  const { decided, ...ruled } = await deps.engine.transact({
    key: programRef(programId),
    readSet: [programRef(programId), ref],
    expectAbsent: [],
    call: input,
    decide(tx, { wall: time }) {
      const program = tx.get(programRef(programId));
      if (!program) throw programNotFound(programId);
      const before = tx.get(ref);
      if (!before || ruleChangeDigest(programId, before) !== digest) {
        throw new DomainError("DIGEST_MISMATCH", "the latest change of the rules is another one");
      }
      const change = decide(before, { caller, reason }, time);
      if (change !== before) tx.put(ref, change);
      const decided = change !== before && { change, time };
      return { ...ruledProgram(program, change, time), decided };
    },
  });
  if (decided) tellOfRules(deps, { programId, ...decided });
  return ruled;
}

/**
 * Reports what has become of a change of the rules, at most once and behind the answer. Only
 * the log knows of a message that could not be sent.
 */
export const tellOfRules = (
  { background, reporter }: Pick<Deps, "background" | "reporter">,
  report: RuleChangeReport,
): void => background(() => reporter.sendRuleChange(report));
