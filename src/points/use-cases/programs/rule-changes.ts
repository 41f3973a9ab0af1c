/** The use cases by which people approve and reject changes of a program's rules. */

import { putAct } from "../../../acts/use-cases/acts.ts";
import type { Call } from "../../../platform/ports/call.ts";
import { DomainError } from "../../../platform/words/errors.ts";
import type { Deps } from "../../ports/deps.ts";
import type { RuleChangeReport } from "../../ports/programs.ts";
import { programRef, ruleChangeRef } from "../../ports/records.ts";
import type { Program } from "../../rules/program.ts";
import { approveRules, rejectRules, withRules } from "../../rules/rule-changes.ts";
import { programNotFound } from "./change-program.ts";
import { ruleChangeDigest } from "./etag.ts";
import { programChanged } from "./program-acts.ts";
import { getProgram } from "./queries.ts";
import { type RuledProgram, ruledProgram } from "./ruled-program.ts";

/** Which change of which program is decided, by whom, and why. */
interface RuleDecision extends Call {
  readonly programId: string;
  /** Names the change: see `ruleChangeDigest`. */
  readonly digest: string;
  readonly reason: string;
}

type DecisionDeps = Pick<Deps, "engine" | "reader" | "workflows" | "background" | "reporter">;

/**
 * Approves the change of the rules with this digest. Repeated by the same person it changes
 * nothing. Refusals: those of `approveRules`, DIGEST_MISMATCH, PROGRAM_NOT_FOUND.
 */
export const approveRulesChange = (
  deps: DecisionDeps,
  input: RuleDecision,
): Promise<RuledProgram> => decideRules(deps, input, approveRules);

/**
 * Rejects the change of the rules with this digest. Repeated it changes nothing. Refusals: those of
 * `rejectRules`, DIGEST_MISMATCH, PROGRAM_NOT_FOUND.
 */
export const rejectRulesChange = (deps: DecisionDeps, input: RuleDecision): Promise<RuledProgram> =>
  decideRules(deps, input, rejectRules);

async function decideRules(
  deps: DecisionDeps,
  input: RuleDecision,
  decide: typeof approveRules,
): Promise<RuledProgram> {
  const { programId, digest, caller, reason } = input;
  const ref = ruleChangeRef(programId);
  const { before, change, program, replaced } = await deps.engine.transact({
    key: programRef(programId),
    readSet: [programRef(programId), ref],
    expectAbsent: [],
    call: input,
    decide(tx, { calendar, wall }) {
      const replaced = tx.get(programRef(programId));
      if (!replaced) throw programNotFound(programId);
      const before = tx.get(ref);
      if (!before || ruleChangeDigest(programId, before) !== digest) {
        throw new DomainError("DIGEST_MISMATCH", "the latest change of the rules is another one");
      }
      const change = decide(before, { caller, reason }, wall);
      if (change === before) return { before, change, program: replaced, replaced };
      tx.put(ref, change);
      const program = withRules(replaced, change, calendar);
      if (program !== replaced) tx.put(programRef(programId), program);
      const was = { program: replaced, rules: before };
      putAct(tx, input, wall, programChanged(programId, was, { program, rules: change }, reason));
      return { before, change, program, replaced };
    },
  });
  if (change !== before) tellOfRules(deps, { programId, change });
  ensureNotices(deps, program, replaced);
  return ruledProgram(program, change);
}

/**
 * Reports what has become of a change of the rules, at most once and behind the answer. Only
 * the log knows of a message that could not be sent.
 */
export const tellOfRules = (
  { background, reporter }: Pick<Deps, "background" | "reporter">,
  report: RuleChangeReport,
): void => background(() => reporter.sendRuleChange(report));

/** Ensures the schedule of the notices of expiry, behind the answer, when they have changed. */
export function ensureNotices(
  deps: Pick<Deps, "reader" | "workflows" | "background">,
  { programId, notices }: Program,
  before: Program,
): void {
  if (notices === before.notices) return;
  // Reads the program again, because a task that is retried may come after a later update.
  deps.background(async () =>
    deps.workflows.ensureExpiryNotices(await getProgram(deps, programId)),
  );
}
