/** The use cases that create and change programs. */

import type { CallLimits } from "../../../platform/ports/call.ts";
import type { Transaction } from "../../../platform/ports/engine.ts";
import type { Caller } from "../../../platform/words/caller.ts";
import { DomainError } from "../../../platform/words/errors.ts";
import type { Instant } from "../../../platform/words/month.ts";
import { timeZoneOf } from "../../../platform/words/time-zone.ts";
import { requireEtag } from "../../../platform/work/etags.ts";
import type { Deps } from "../../ports/deps.ts";
import { bulkRulesRef, earlierBulkRulesRef, programRef } from "../../ports/records.ts";
import { firstRules, type Proposed, proposeRules } from "../../rules/bulk-rule-changes.ts";
import {
  type BulkRules,
  checkBulkRules,
  defaultBulkRules,
  isSameRules,
} from "../../rules/bulk-rules.ts";
import {
  addShards,
  lengthen,
  newestLifetime,
  type ProgramNotices,
  reservationShardsOf,
  setNotices,
} from "../../rules/program.ts";
import { tellOfRules } from "./bulk-rules.ts";
import { programNotFound } from "./change-program.ts";
import { programEtag } from "./etag.ts";
import { getProgram } from "./queries.ts";
import { type RuledProgram, ruledProgram } from "./ruled-program.ts";

/** Rules for bulk grants, and who wants them. */
interface NewRules {
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
    readonly bulkRules?: NewRules | undefined;
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
    expectAbsent: [programRef(programId), bulkRulesRef(programId), firstRulesRef(programId)],
    call: input,
    decide(tx, { calendar, wall }) {
      const existing = tx.get(programRef(programId));
      if (!existing) {
        const lifetimes = [{ lifetimeMonths, effectiveTime: 0 }];
        const program = { programId, timeZone, lifetimes, createTime: calendar };
        tx.put(programRef(programId), program);
        const first = bulkRules && putFirstRules(tx, programId, bulkRules, wall);
        return { ...ruledProgram(program, first, wall), replayed: false };
      }
      const isSame =
        existing.timeZone === timeZone &&
        existing.lifetimes[0]?.lifetimeMonths === lifetimeMonths &&
        (!bulkRules || isSameRules(firstRulesOf(tx, programId), bulkRules.rules));
      const change = tx.get(bulkRulesRef(programId));
      if (isSame) return { ...ruledProgram(existing, change, wall), replayed: true };
      throw new DomainError("ID_REUSED", "the program exists with another zone, lifetime or rules");
    },
  });
  deps.background(() => deps.workflows.ensureMonthEnd(created.program));
  return created;
}

/** Where the rules are that a program was created with, once others came after them. */
const firstRulesRef = (programId: string) => earlierBulkRulesRef(programId, 0);

function putFirstRules(
  tx: Transaction,
  programId: string,
  { rules, proposer }: NewRules,
  now: Instant,
) {
  if (isSameRules(rules, defaultBulkRules)) return undefined;
  const first = firstRules(rules, proposer, now);
  tx.put(bulkRulesRef(programId), first);
  return first;
}

function firstRulesOf(tx: Transaction, programId: string): BulkRules {
  const latest = tx.get(bulkRulesRef(programId));
  const first = latest?.number === 0 ? latest : tx.get(firstRulesRef(programId));
  return first?.to ?? defaultBulkRules;
}

/**
 * Lengthens a program's lifetime, which takes effect in two minutes, sets at once what the members
 * are notified of, raises the number of shards, and proposes rules for bulk grants. Whatever is
 * absent stays as it is. An update that changes nothing is accepted with any etag, so that it can
 * be sent again after a lost answer.
 * Refusals, which change nothing: PROGRAM_NOT_FOUND, ETAG_MISMATCH for an etag, if it is not empty,
 * that is not the present one, WRONG_STATE for a shorter lifetime or fewer shards, INVALID_REQUEST
 * as `checkBulkRules`.
 */
export async function updateProgram(
  deps: Pick<Deps, "engine" | "reader" | "workflows" | "background" | "reporter">,
  input: CallLimits & {
    readonly programId: string;
    readonly lifetimeMonths?: number | undefined;
    readonly notices?: ProgramNotices | undefined;
    readonly reservationShardCount?: number | undefined;
    readonly bulkRules?: NewRules | undefined;
    readonly etag?: string;
  },
): Promise<RuledProgram> {
  const { programId, notices, bulkRules, etag = "" } = input;
  if (bulkRules) checkBulkRules(bulkRules.rules, "program.bulk_rules");
  const { proposed, ...changed } = await deps.engine.transact({
    key: programRef(programId),
    readSet: [programRef(programId), bulkRulesRef(programId)],
    expectAbsent: [],
    call: input,
    decide(tx, { calendar, wall }) {
      const before = tx.get(programRef(programId));
      if (!before) throw programNotFound(programId);
      const change = tx.get(bulkRulesRef(programId));
      const proposed = bulkRules && proposeRules(change, bulkRules.rules, bulkRules.proposer, wall);
      const { reservationShardCount: shards = reservationShardsOf(before) } = input;
      const isSpread = shards === reservationShardsOf(before);
      const notifying = notices ? setNotices(before, notices) : before;
      const newest = newestLifetime(before).lifetimeMonths;
      const { lifetimeMonths = newest } = input;
      if (proposed || notifying !== before || lifetimeMonths !== newest || !isSpread)
        requireEtag(etag, programEtag(before, change));
      const program = addShards(lengthen(notifying, lifetimeMonths, calendar), shards);
      if (program !== before) tx.put(programRef(programId), program);
      if (proposed) putRules(tx, programId, proposed);
      const ruled = ruledProgram(program, proposed?.latest ?? change, wall);
      return { ...ruled, proposed: proposed && { change: proposed.latest, time: wall } };
    },
  });
  if (proposed) tellOfRules(deps, { programId, ...proposed });
  if (notices) {
    // Reads the program again, because a task that is retried may come after a later update.
    deps.background(async () =>
      deps.workflows.ensureExpiryNotices(await getProgram(deps, programId)),
    );
  }
  return changed;
}

function putRules(tx: Transaction, programId: string, { latest, earlier }: Proposed): void {
  tx.put(bulkRulesRef(programId), latest);
  if (earlier) tx.put(earlierBulkRulesRef(programId, earlier.number), earlier);
}
