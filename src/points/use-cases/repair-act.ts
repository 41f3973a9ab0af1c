/** The act of the repair of an account. */
import { type Changed, cutChange, maxChanges } from "../../acts/rules/act.ts";
import { putAct } from "../../acts/use-cases/acts.ts";
import type { CallLimits } from "../../platform/ports/call.ts";
import type { Transaction } from "../../platform/ports/engine.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { Deps } from "../ports/deps.ts";
import type { AccountName } from "../ports/points.ts";
import { accountRef } from "../ports/records.ts";
import type { VerifiedAccount } from "./verify-account.ts";

/** Puts the act of a repair into the transaction of its first part; nothing into later ones. */
export type PutRepairAct = (tx: Transaction, now: Instant) => void;

/** Returns what puts the act of a call: the differences as they were found before its repair. */
export function repairAct(
  { programId, userId }: AccountName,
  { differences }: VerifiedAccount,
  call: CallLimits = {},
): PutRepairAct {
  const changes = differences
    .slice(0, maxChanges)
    .map(({ field, expected, actual }) => cutChange({ field, before: actual, after: expected }));
  const object = { objectType: "account", objectId: userId, userId } as const;
  const changed: Changed = { programId, ...object, changes, reason: "" };
  return (tx, now) => putAct(tx, call, now, changed);
}

/** Writes the act before a part of a repair that no transaction makes. */
export const writeRepairAct = (
  { engine }: Pick<Deps, "engine">,
  { programId, userId }: AccountName,
  call: CallLimits | undefined,
  put: PutRepairAct,
): Promise<void> =>
  engine.transact({
    key: accountRef(programId, userId),
    readSet: [],
    expectAbsent: [],
    call,
    decide: (tx, { wall }) => put(tx, wall),
  });
