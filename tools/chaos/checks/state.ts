/** The stored state when a run is over and all requests have been processed. */
import type { Action, BulkGrant } from "../../../src/bulk-grants/rules/bulk-grant.ts";
import type { Hold } from "../../../src/holds/rules/hold.ts";
import type { LedgerEntry } from "../../../src/points/rules/ledger.ts";
import type { Program } from "../../../src/points/rules/program.ts";
import type { Reservation } from "../../../src/reservations/rules/reservation.ts";
import type { Tables } from "../../../test/support/models/reactions-audit.ts";
import type { KnownEntry } from "../../../test/support/models/workload-operations.ts";

/** An entry of the ledger of an account, as the checks need it. */
export type Entry = KnownEntry & Pick<LedgerEntry, "createTime">;

export interface State {
  /** When it was read. */
  readonly time: number;
  /** By user, all entries in order. */
  readonly ledgers: ReadonlyMap<string, readonly Entry[]>;
  /** The differences between accounts and their ledgers. */
  readonly differences: readonly string[];
  readonly holds: ReadonlyMap<string, Hold>;
  /** By user, the points that the account holds. */
  readonly heldPoints: ReadonlyMap<string, number>;
  readonly reservations: ReadonlyMap<string, StoredReservation>;
  readonly bulkGrants: ReadonlyMap<string, StoredBulkGrant>;
  /** All items of the tables of reactions and notifications. */
  readonly tables: Tables;
  readonly programs: ReadonlyMap<string, Pick<Program, "lifetimes">>;
}

export type StoredReservation = Pick<
  Reservation,
  "userId" | "points" | "state" | "executeTime" | "grant" | "failure"
>;

export interface StoredBulkGrant extends Pick<BulkGrant, "state" | "endTime" | "result"> {
  /** The latest ones. */
  readonly actions?: readonly Pick<Action, "action">[];
  readonly rows: readonly {
    readonly userId: string;
    readonly points: number;
    readonly state: string;
  }[];
}

/** The entries of all accounts, with their users. */
export const allEntries = ({ ledgers }: Pick<State, "ledgers">) =>
  [...ledgers].flatMap(([userId, ledger]) => ledger.map((entry) => ({ userId, entry })));
