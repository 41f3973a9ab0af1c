/** The acts of changes of a program and of its rules. */
import { type Changed, fieldChanges, maxChanges } from "../../../acts/rules/act.ts";
import { bulkRulesAsList } from "../../rules/bulk-rules.ts";
import { changeableValues, type Program } from "../../rules/program.ts";
import type { ProgramRules } from "../../rules/program-rules.ts";
import { type RuleChange, ruleChangeState } from "../../rules/rule-changes.ts";

/** A program with the latest change of its rules, if there is any. */
interface ProgramState {
  readonly program?: Program | undefined;
  readonly rules?: RuleChange | undefined;
}

/** What has changed between two states of a program. The program itself is absent if it is new. */
export const programChanged = (
  programId: string,
  before: ProgramState,
  after: ProgramState,
  reason = "",
): Changed => ({
  programId,
  objectType: "program",
  objectId: programId,
  // First what is proposed, which nothing else of the act says, should there be too many fields.
  changes: [
    ...(after.rules && after.rules.number !== before.rules?.number ? proposed(after.rules) : []),
    ...fieldChanges(valuesOf(before), valuesOf(after)),
  ].slice(0, maxChanges),
  reason,
});

/** What a new change of the rules proposes. */
const proposed = ({ from, to }: RuleChange) =>
  fieldChanges(proposedValues(from), proposedValues(to));

const proposedValues = ({ lifetimeMonths, notices, bulkRules }: ProgramRules) => ({
  proposed_lifetime_months: lifetimeMonths,
  proposed_notices: notices,
  proposed_bulk_rules: bulkRulesAsList(bulkRules),
});

/** All values of the rules are in their change, which has a number and is kept for good. */
const valuesOf = ({ program, rules }: ProgramState) => ({
  ...(program && changeableValues(program)),
  ...(rules && {
    rules_change: rules.number,
    rules_state: ruleChangeState(rules),
    rules_approvals: rules.approvals.length,
  }),
});
