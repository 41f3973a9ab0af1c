/** The use cases that create and change programs. */

import { putAct } from "../../../acts/use-cases/acts.ts";
import type { Call, CallLimits } from "../../../platform/ports/call.ts";
import type { Transaction } from "../../../platform/ports/engine.ts";
import type { Caller } from "../../../platform/words/caller.ts";
import { DomainError } from "../../../platform/words/errors.ts";
import type { Instant } from "../../../platform/words/month.ts";
import { timeZoneOf } from "../../../platform/words/time-zone.ts";
import { requireEtag } from "../../../platform/work/etags.ts";
import type { Deps } from "../../ports/deps.ts";
import { earlierRuleChangeRef, programRef, ruleChangeRef } from "../../ports/records.ts";
import type { BalanceLimits } from "../../rules/balance-limits.ts";
import {
  type BulkRules,
  checkBulkRules,
  defaultBulkRules,
  isSameBulkRules,
} from "../../rules/bulk-rules.ts";
import {
  addShards,
  type Program,
  reservationShardsOf,
  setBalanceLimits,
} from "../../rules/program.ts";
import type { ProgramRules } from "../../rules/program-rules.ts";
import {
  firstRules,
  type Proposed,
  proposeRules,
  type RuleChange,
  refuseShorter,
  ruleChangeState,
  withRules,
} from "../../rules/rule-changes.ts";
import { programNotFound } from "./change-program.ts";
import { programEtag } from "./etag.ts";
import { programChanged } from "./program-acts.ts";
import { ensureNotices, tellOfRules } from "./rule-changes.ts";
import { type RuledProgram, ruledProgram } from "./ruled-program.ts";

/** The rules for bulk grants with which a program begins, and who wants them. */
interface FirstRules {
  readonly rules: BulkRules;
  readonly proposer: Caller;
}

/**
 * Creates a program, with rules for bulk grants if they are given: nobody has points in it yet, so
 * nobody has to approve them. Returns it, replayed, when it exists with this zone (in any case),
 * this lifetime and, if rules are given, these first ones. Refusals: INVALID_REQUEST for an unknown
 * zone and as `checkBulkRules`, ID_REUSED when the program exists with another zone, lifetime or
 * first rules.
 */
export async function createProgram(
  deps: Pick<Deps, "engine" | "workflows" | "background">,
  input: CallLimits & {
    readonly programId: string;
    readonly timeZone: string;
    readonly lifetimeMonths: number;
    readonly bulkRules?: FirstRules | undefined;
  },
): Promise<RuledProgram & { readonly replayed: boolean }> {
  const { programId, lifetimeMonths, bulkRules } = input;
  const timeZone = timeZoneOf(input.timeZone);
  if (timeZone === undefined) {
    throw new DomainError("INVALID_REQUEST", `${input.timeZone} is not in the IANA database`, {
      field: "time_zone",
    });
  }
  if (bulkRules) checkBulkRules(bulkRules.rules, "bulk_rules");
  const created = await deps.engine.transact({
    key: programRef(programId),
    readSet: [],
    expectAbsent: [programRef(programId), ruleChangeRef(programId), firstRulesRef(programId)],
    call: input,
    decide(tx, { calendar, wall }) {
      const existing = tx.get(programRef(programId));
      if (!existing) {
        const lifetimes = [{ lifetimeMonths, effectiveTime: 0 }];
        const program = { programId, timeZone, lifetimes, createTime: calendar };
        tx.put(programRef(programId), program);
        const first = bulkRules && putFirstRules(tx, program, bulkRules, wall);
        putAct(tx, input, wall, programChanged(programId, {}, { program, rules: first }));
        return { ...ruledProgram(program, first), replayed: false };
      }
      const isSame =
        existing.timeZone === timeZone &&
        existing.lifetimes[0]?.lifetimeMonths === lifetimeMonths &&
        (!bulkRules || isSameBulkRules(firstRulesOf(tx, programId), bulkRules.rules));
      const change = tx.get(ruleChangeRef(programId));
      if (isSame) return { ...ruledProgram(existing, change), replayed: true };
      throw new DomainError("ID_REUSED", "the program exists with another zone, lifetime or rules");
    },
  });
  deps.background(() => deps.workflows.ensureMonthEnd(created.program));
  return created;
}

/** Where the rules are that a program was created with, once others came after them. */
const firstRulesRef = (programId: string) => earlierRuleChangeRef(programId, 0);

function putFirstRules(
  tx: Transaction,
  program: Program,
  { rules, proposer }: FirstRules,
  now: Instant,
) {
  if (isSameBulkRules(rules, defaultBulkRules)) return undefined;
  const first = firstRules(program, rules, proposer, now);
  tx.put(ruleChangeRef(program.programId), first);
  return first;
}

function firstRulesOf(tx: Transaction, programId: string): BulkRules {
  const latest = tx.get(ruleChangeRef(programId));
  const first = latest?.number === 0 ? latest : tx.get(firstRulesRef(programId));
  return first?.to.bulkRules ?? defaultBulkRules;
}

/**
 * Proposes rules of a program; raises the number of shards and sets the limits of balances at once.
 * Whatever is absent stays as it is. An update that changes nothing is accepted with any etag, so
 * that it can be sent again after a lost answer.
 * Refusals, which change nothing: PROGRAM_NOT_FOUND, ETAG_MISMATCH for an etag that is not the
 * present one, or for none if an open change would be replaced, WRONG_STATE for a shorter lifetime
 * or fewer shards, INVALID_REQUEST as `checkBulkRules`.
 */
export async function updateProgram(
  deps: Pick<Deps, "engine" | "reader" | "workflows" | "background" | "reporter">,
  input: Call & {
    readonly programId: string;
    readonly rules?: Partial<ProgramRules>;
    readonly reservationShardCount?: number | undefined;
    readonly balanceLimits?: BalanceLimits | undefined;
    readonly reason?: string;
    readonly etag?: string;
  },
): Promise<RuledProgram> {
  const { programId, rules = {}, caller, reason = "", etag = "" } = input;
  if (rules.bulkRules) checkBulkRules(rules.bulkRules, "program.bulk_rules");
  const { before, program, change, proposed } = await deps.engine.transact({
    key: programRef(programId),
    readSet: [programRef(programId), ruleChangeRef(programId)],
    expectAbsent: [],
    call: input,
    decide(tx, { calendar, wall }) {
      const before = tx.get(programRef(programId));
      if (!before) throw programNotFound(programId);
      const latest = tx.get(ruleChangeRef(programId));
      const proposed = proposeRules(before, latest, rules, { caller, reason }, wall);
      const { reservationShardCount: shards = reservationShardsOf(before) } = input;
      const limited = input.balanceLimits ? setBalanceLimits(before, input.balanceLimits) : before;
      if (proposed || limited !== before || shards !== reservationShardsOf(before))
        requireEtag(etag, programEtag(before, latest));
      if (proposed) {
        requireEtagToReplace(etag, latest);
        refuseShorter(proposed.latest);
      }
      const spread = addShards(limited, shards);
      const program = proposed ? withRules(spread, proposed.latest, calendar) : spread;
      if (program !== before) tx.put(programRef(programId), program);
      if (proposed) putRules(tx, programId, proposed);
      const change = proposed?.latest ?? latest;
      if (program !== before || proposed) {
        const was = { program: before, rules: latest };
        putAct(tx, input, wall, programChanged(programId, was, { program, rules: change }, reason));
      }
      return { before, program, change, proposed };
    },
  });
  for (const change of proposed ? changedBy(proposed) : [])
    tellOfRules(deps, { programId, change });
  ensureNotices(deps, program, before);
  return ruledProgram(program, change);
}

/**
 * A change that waits for approvals is replaced only by an update of somebody who has seen it: not
 * by one about another rule, nor by an earlier one that is sent again after a lost answer.
 */
function requireEtagToReplace(etag: string, latest: RuleChange | undefined): void {
  if (etag !== "" || !latest || ruleChangeState(latest) !== "PROPOSED") return;
  const what = `change ${latest.number} of the rules waits for approvals`;
  throw new DomainError("ETAG_MISMATCH", `${what}: reject it, or send the etag of the program`);
}

/** The change that was replaced, if one was, and the one that was proposed. */
const changedBy = ({ earlier, latest }: Proposed): RuleChange[] =>
  earlier?.end?.state === "REPLACED" ? [earlier, latest] : [latest];

function putRules(tx: Transaction, programId: string, { latest, earlier }: Proposed): void {
  tx.put(ruleChangeRef(programId), latest);
  if (earlier) tx.put(earlierRuleChangeRef(programId, earlier.number), earlier);
}
