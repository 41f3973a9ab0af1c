/** The acts of changes of a program and of its rules. */
import { type Changed, fieldChanges } from "../../../acts/rules/act.ts";
import { changeableValues, type Program } from "../../rules/program.ts";
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
  changes: fieldChanges(valuesOf(before), valuesOf(after)),
  reason,
});

/** The rules themselves are in their change, which has a number and is kept for good. */
const valuesOf = ({ program, rules }: ProgramState) => ({
  ...(program && changeableValues(program)),
  ...(rules && {
    rules_change: rules.number,
    rules_state: ruleChangeState(rules),
    rules_approvals: rules.approvals.length,
  }),
});
