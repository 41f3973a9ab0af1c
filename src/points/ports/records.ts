/** The records of programs and accounts, and their names. */

import { type Ref, ref } from "../../platform/ports/records.ts";
import type { Account } from "../rules/account.ts";
import type { Job, JobName } from "../rules/jobs.ts";
import type { EventKey, LedgerEntry } from "../rules/ledger.ts";
import type { Program } from "../rules/program.ts";
import type { RuleChange } from "../rules/rule-changes.ts";

declare module "../../platform/ports/records.ts" {
  interface Records {
    program: Program;
    account: Account;
    entry: LedgerEntry;
    event: EventKey;
    job: Job;
    /** The latest change of a program's rules. */
    ruleChange: RuleChange;
    /** A change that others came after. */
    earlierRuleChange: RuleChange;
  }
}

export const programRef = (programId: string): Ref<"program"> => ref("program", programId);
export const accountRef = (programId: string, userId: string): Ref<"account"> =>
  ref("account", programId, userId);
export const entryRef = (programId: string, userId: string, number: number): Ref<"entry"> =>
  ref("entry", programId, userId, number);
export const eventRef = (programId: string, userId: string, name: string): Ref<"event"> =>
  ref("event", programId, userId, name);
export const jobRef = ({ programId, kind, jobId }: JobName): Ref<"job"> =>
  ref("job", programId, kind, jobId);
export const ruleChangeRef = (programId: string): Ref<"ruleChange"> => ref("ruleChange", programId);
export const earlierRuleChangeRef = (programId: string, number: number): Ref<"earlierRuleChange"> =>
  ref("earlierRuleChange", programId, number);
