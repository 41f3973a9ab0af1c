/** Reads the limits of balances of the programs to whose ledgers records belong. */
import { DomainError } from "../../platform/words/errors.ts";
import type { BalanceLimits } from "../../points/rules/balance-limits.ts";
import type { StoredRecord } from "../ports/changes.ts";
import type { EventDeps } from "../ports/deps.ts";
import type { LimitsOf } from "../rules/events-of.ts";

type LimitDeps = Pick<EventDeps, "programs">;

/** The limits of the programs of all entries among the records, as they are now. */
export async function readLimits(
  deps: LimitDeps,
  records: readonly StoredRecord[],
): Promise<LimitsOf> {
  const entries = records.filter(({ kind }) => kind === "entry");
  const ids = new Set(entries.map(({ id }) => id.slice(0, id.indexOf("#"))));
  const found = await Promise.all(
    [...ids].map(async (id) => [id, await limitsOfProgram(deps, id)] as const),
  );
  const byId = new Map(found);
  return (programId) => byId.get(programId);
}

/** Undefined also for the program of a damaged account, which does not exist. */
async function limitsOfProgram(
  { programs }: LimitDeps,
  programId: string,
): Promise<BalanceLimits | undefined> {
  try {
    return (await programs.get(programId)).balanceLimits;
  } catch (error) {
    if (error instanceof DomainError && error.reason === "PROGRAM_NOT_FOUND") return undefined;
    throw error;
  }
}
