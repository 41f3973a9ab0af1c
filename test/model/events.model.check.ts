/**
 * Plays workloads of all services on the store in memory, makes the events of each change, and
 * compares a consumer's copy with the tables: once as they happen, and once long after, with the
 * changes of several shards in another order than they happened.
 */
import { expect, test } from "vitest";
import { createDueHours } from "../../src/due/runtime/due-hours.ts";
import type { StoredChange, StoredRecord, StreamedTable } from "../../src/events/ports/changes.ts";
import { toEvent } from "../../src/events/published/to-event.ts";
import { eventsOf } from "../../src/events/rules/events-of.ts";
import { withoutMoved } from "../../src/events/use-cases/without-moved.ts";
import type { WorkerDeps } from "../../src/hub/deps.ts";
import { shardOf } from "../../src/platform/dynamodb/codec.ts";
import { CommitEngine } from "../../src/platform/engine/engine.ts";
import { nameOf, type Write } from "../../src/platform/engine/item-store.ts";
import { codecOf } from "../../src/store/codecs.ts";
import { itemsIn } from "../../tools/chaos/checks/recorded-run.ts";
import { differences } from "../support/events/compare.ts";
import { EventCopy } from "../support/events/copy.ts";
import { actOnInbox } from "../support/events/inbox-acts.ts";
import { readTables } from "../support/events/tables.ts";
import { programId } from "../support/models/bulk-use-cases.ts";
import { randomFrom } from "../support/models/random.ts";
import { send } from "../support/models/restore-play.ts";
import { begin, createWorkload, deletion } from "../support/models/restore-workload.ts";
import { memoryDeps } from "../support/stores/memory-store.ts";

const limits = { below: [9_990, 10_000], above: [10_000, 10_010] };

const streamed = new Set<string>([
  ...["program", "entry", "reservation", "hold", "bulkGrant", "target"],
  ...["unreadGroup", "readGroup"],
]);

/** A store whose changes are kept in the order in which they were made. */
function recordChanges() {
  const memory = memoryDeps();
  const { store, clock } = memory;
  const known = new Map<string, StoredRecord>();
  const changes: StoredChange[] = [];

  function keep({ ref, op, value, next }: Write): void {
    if (op === "check" || !streamed.has(ref.kind)) return;
    const before = known.get(nameOf(ref));
    const after = { ...ref, value, version: next } as StoredRecord;
    if (op === "put") known.set(nameOf(ref), after);
    else known.delete(nameOf(ref));
    changes.push({
      table: codecOf(ref.kind).table as StreamedTable,
      time: Math.floor(clock.time / 1_000) * 1_000,
      before: before ? [before] : [],
      after: op === "put" ? [after] : [],
      isExpiry: false,
    });
  }

  const engine = new CommitEngine({
    store: {
      ...store.itemStore,
      async commit(writes, token) {
        const result = await store.itemStore.commit(writes, token);
        if (result.kind === "committed") writes.forEach(keep);
        return result;
      },
    },
    clock,
  });
  const deps: WorkerDeps = {
    ...memory.deps,
    engine,
    dueHours: createDueHours(engine, clock),
    readAhead: (requests) => engine.readAhead(requests),
  };
  return { store, clock, deps, changes };
}

/** The changes as several shards of each table may hand them over: in order for each partition. */
function inShards(changes: readonly StoredChange[], random: () => number): StoredChange[] {
  const shards = Map.groupBy(changes, (change) => {
    const [record] = [...change.after, ...change.before];
    const { pk } = codecOf(record?.kind ?? "entry").key(record?.id ?? "");
    return `${change.table} ${shardOf(pk?.S ?? "", 3)}`;
  });
  const waiting = [...shards.values()];
  const merged: StoredChange[] = [];
  while (waiting.length > 0) {
    const at = Math.floor(random() * waiting.length);
    const next = waiting[at]?.shift();
    if (next) merged.push(next);
    else waiting.splice(at, 1);
  }
  return merged;
}

/** A copy that has the events of these changes. */
async function copyOf(deps: WorkerDeps, changes: readonly StoredChange[]): Promise<EventCopy> {
  const copy = new EventCopy();
  for (const change of changes) await addTo(copy, deps, change);
  return copy;
}

async function addTo(copy: EventCopy, deps: WorkerDeps, change: StoredChange): Promise<void> {
  const events = await withoutMoved(
    deps,
    eventsOf(change, () => limits),
  );
  for (const event of events) copy.add(toEvent(event, "/meguri/test"));
}

test.each([1, 2, 3, 4, 5, 6])("a copy by events equals the tables (%i)", async (seed) => {
  const random = randomFrom(seed);
  const { store, clock, deps, changes } = recordChanges();
  const timely = new EventCopy();
  let taken = 0;
  await begin(deps);
  for (const steps of [...createWorkload(random, 80), [deletion]]) {
    clock.time += 1_000;
    await send(deps, [steps]);
    if (random() < 0.3) await actOnInbox(deps, random, random() < 0.5 ? "ann" : "bob");
    for (; taken < changes.length; taken++) {
      await addTo(timely, deps, changes[taken] as StoredChange);
    }
  }
  const late = await copyOf(deps, inShards(changes, random));
  const tables = await readTables(async (table) => itemsIn(store, table));
  const ofProgram = new Map([[programId, limits]]);
  expect(differences(timely, tables, ofProgram)).toEqual([]);
  expect(differences(late, tables, ofProgram)).toEqual([]);
  // There is something of everything to compare.
  const kinds = new Set([...timely.records.keys()].map((name) => name.split(" ")[0]));
  expect([...kinds].sort()).toEqual([
    "account",
    "bulk",
    "hold",
    "notification",
    "program",
    "reservation",
    "target",
  ]);
  expect(timely.crossings.size).toBeGreaterThan(0);
});
