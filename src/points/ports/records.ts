/** The records of programs and accounts, and their names. */

import { type Ref, ref } from "../../platform/ports/records.ts";
import type { Account } from "../rules/account.ts";
import type { RuleChange } from "../rules/bulk-rule-changes.ts";
import type { Job, JobName } from "../rules/jobs.ts";
import type { EventKey, LedgerEntry } from "../rules/ledger.ts";
import type { Program } from "../rules/program.ts";

declare module "../../platform/ports/records.ts" {
  interface Records {
    program: Program;
    account: Account;
    entry: LedgerEntry;
    event: EventKey;
    job: Job;
    /** The latest change of a program's bulk rules. */
    bulkRules: RuleChange;
    /** A change that others came after. */
    earlierBulkRules: RuleChange;
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
export const bulkRulesRef = (programId: string): Ref<"bulkRules"> => ref("bulkRules", programId);
export const earlierBulkRulesRef = (programId: string, number: number): Ref<"earlierBulkRules"> =>
  ref("earlierBulkRules", programId, number);
