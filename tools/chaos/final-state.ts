/** Waits until everything that was sent has been done, and reads what is stored then. */
import { setTimeout as sleep } from "node:timers/promises";
import { bulkGrantRef } from "../../src/bulk-grants/ports/records.ts";
import { getBulkGrant, listRows } from "../../src/bulk-grants/use-cases/queries.ts";
import type { Deps } from "../../src/hub/deps.ts";
import { text } from "../../src/platform/dynamodb/sdk/attributes.ts";
import { defaultProgramId as programId } from "../../src/platform/words/program-ids.ts";
import { programRef } from "../../src/points/ports/records.ts";
import { getBalance } from "../../src/points/use-cases/queries.ts";
import { verifyAccount } from "../../src/points/use-cases/verify.ts";
import { reservationRef } from "../../src/reservations/ports/records.ts";
import type { EventCopy } from "../../test/support/events/copy.ts";
import { readTables } from "../../test/support/events/tables.ts";
import { allItems } from "../../test/support/fixtures/pages.ts";
import { eventually } from "../../test/support/fixtures/waiting.ts";
import { holdsOf, ledgerOf } from "../../test/support/models/fault-workload.ts";
import { wrongEvents } from "./checks/events.ts";
import type { State, StoredBulkGrant } from "./checks/state.ts";
import { onPoints, type Record } from "./record.ts";
import type { Listener } from "./services.ts";
import type { Stack } from "./stack.ts";

const pollMs = 1_000;
const sayEveryMs = 30_000;

/** Records that are due within this time after the faults, such as short holds, are awaited. */
const soonMs = 90_000;

/**
 * Waits until reservations and holds that are due soon, and bulk grants that are approved, have
 * come to their end. Returns when the time is over, too: the checks then report which have not.
 * Says meanwhile how many are left: if they become fewer all the time, this machine was too slow.
 */
export async function settle(
  deps: Deps,
  record: Record,
  mostMs: number,
  stopped: AbortSignal,
  say: (line: string) => void,
): Promise<void> {
  const latest = performance.now() + mostMs;
  const dueBy = Date.now() + soonMs;
  let sayAt = performance.now() + sayEveryMs;
  while (performance.now() < latest && !stopped.aborted) {
    const open = await countOpen(deps, record, dueBy);
    if (open === 0) return;
    if (performance.now() > sayAt) {
      sayAt += sayEveryMs;
      say(`${open} are still to be done`);
    }
    await sleep(pollMs);
  }
}

async function countOpen(deps: Deps, record: Record, dueBy: number): Promise<number> {
  const { reader } = deps;
  const reservations = await reader.many(
    record.reservations.map(({ id }) => reservationRef(programId, id)),
  );
  const bulkGrants = await reader.many(
    record.bulkGrants.map(({ id }) => bulkGrantRef(programId, id)),
  );
  const due = reservations.filter((each) => each?.state === "PENDING" && each.executeTime <= dueBy);
  const holds = [...(await holdsOf(deps, onPoints(record))).values()];
  const held = holds.filter(({ state, until }) => state === "HELD" && until <= dueBy);
  const active = bulkGrants.filter(
    (each) => each && ["VALIDATING", "APPROVED", "RUNNING"].includes(each.state),
  );
  return due.length + held.length + active.length;
}

/**
 * Calls each process until it answers, for at most so long: one that a fault has broken for good
 * would go unnoticed while the other one answers. Returns what is wrong.
 */
export async function callEach(
  listeners: readonly Listener[],
  mostMs: number,
  stopped: AbortSignal,
): Promise<string[]> {
  const wrong = listeners.map(async ({ name, call }): Promise<string[]> => {
    try {
      await eventually(async () => {
        if (!stopped.aborted) await call();
      }, mostMs);
      return [];
    } catch (error) {
      return [`${name} does not answer after the last fault: ${error}`];
    }
  });
  return (await Promise.all(wrong)).flat();
}

/**
 * Compares the copy of a consumer of events with the tables, which nothing changes any more, until
 * nothing is wrong, or no event has come for so long. Returns what is wrong.
 */
export async function compareEvents(
  { itemsOf }: Pick<Stack, "itemsOf">,
  copy: EventCopy,
  quietMs: number,
  stopped: AbortSignal,
): Promise<string[]> {
  let { events } = copy.counts;
  let latest = performance.now() + quietMs;
  for (;;) {
    const wrong = wrongEvents(copy, await readTables(itemsOf));
    if (wrong.length === 0 || performance.now() > latest || stopped.aborted) return wrong;
    if (copy.counts.events > events) latest = performance.now() + quietMs;
    events = copy.counts.events;
    await sleep(pollMs);
  }
}

/** Reads everything that the checks compare. */
export async function readState(
  { deps, itemsOf }: Pick<Stack, "deps" | "itemsOf">,
  record: Record,
): Promise<State> {
  const { reader } = deps;
  const accounts = [...(await itemsOf("accounts")), ...(await itemsOf("points"))].map((item) =>
    text(item, "pk"),
  );
  const time = Date.now();
  const ledgers = new Map<string, Awaited<ReturnType<typeof ledgerOf>>>();
  const heldPoints = new Map<string, number>();
  const differences: string[] = [];
  for (const userId of new Set([...usersOf(record), ...accounts.flatMap(userOf)])) {
    const name = { programId, userId };
    const { differences: found } = await verifyAccount(deps, name, false);
    differences.push(...found.map((each) => `account ${userId}: ${JSON.stringify(each)}`));
    ledgers.set(userId, await ledgerOf(deps, userId));
    heldPoints.set(userId, (await getBalance(deps, name)).heldPoints);
  }
  const bulkGrants = new Map<string, StoredBulkGrant>();
  for (const { id } of record.bulkGrants) {
    const found = await readBulkGrant(deps, id);
    if (found) bulkGrants.set(id, found);
  }
  return {
    time,
    ledgers,
    differences,
    holds: await holdsOf(deps, onPoints(record)),
    heldPoints,
    reservations: await stored(record.reservations, (ids) =>
      reader.many(ids.map((id) => reservationRef(programId, id))),
    ),
    bulkGrants,
    tables: {
      reactions: await itemsOf("reactions"),
      notifications: await itemsOf("notifications"),
    },
    programs: await stored(record.programs, (ids) => reader.many(ids.map(programRef))),
  };
}

/** The users whose accounts the clients may have changed. */
const usersOf = (record: Record): string[] => [
  ...onPoints(record).map(({ operation }) => operation.userId),
  ...record.reservations.map(({ userId }) => userId),
  ...record.bulkGrants.flatMap(({ rows }) => rows.map(({ userId }) => userId)),
];

const accountPrefix = `A#${programId}#`;

/** The user of an account or a ledger entry of the program. */
const userOf = (partition: string): string[] =>
  partition.startsWith(accountPrefix) ? [partition.slice(accountPrefix.length)] : [];

/** The stored values of these records, by id. */
async function stored<T>(
  records: readonly { readonly id: string }[],
  read: (ids: readonly string[]) => Promise<readonly (T | undefined)[]>,
): Promise<Map<string, T>> {
  const ids = records.map(({ id }) => id);
  const found = await read(ids);
  return new Map(
    ids.flatMap((id, i): [string, T][] => {
      const each = found[i];
      return each === undefined ? [] : [[id, each]];
    }),
  );
}

async function readBulkGrant(
  deps: Deps,
  bulkGrantId: string,
): Promise<StoredBulkGrant | undefined> {
  const name = { programId, bulkGrantId };
  if (!(await deps.reader.get(bulkGrantRef(programId, bulkGrantId)))) return undefined;
  const { bulkGrant } = await getBulkGrant(deps, name);
  const rows = await allItems((page) => listRows(deps, name, {}, page));
  return {
    ...bulkGrant,
    rows: rows.map(({ row: { userId, points }, state }) => ({ userId, points, state })),
  };
}
