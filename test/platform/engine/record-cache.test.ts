/** Tests which records read validation reads before the outcomes of a batch are delivered. */
import { expect, test } from "vitest";
import { inboxRef, targetRef, unreadGroupRef } from "../../../src/feed/ports/records.ts";
import {
  decide,
  type Outcome,
  type Pending,
  type Snapshot,
} from "../../../src/platform/engine/batch.ts";
import { nameOf } from "../../../src/platform/engine/item-store.ts";
import { toValidate } from "../../../src/platform/engine/record-cache.ts";
import type { Transaction } from "../../../src/platform/ports/engine.ts";
import type { Ref } from "../../../src/platform/ports/records.ts";
import { createMemoryStore } from "../../support/stores/memory-store.ts";

const name = { type: "post", id: "p" };
const [shared, one, other] = [
  inboxRef("owner"),
  targetRef(name),
  unreadGroupRef("owner", name, "like"),
];

const snapshot = (at: number, ...refs: readonly Ref[]): Snapshot =>
  new Map(refs.map((ref) => [nameOf(ref), { ref, value: undefined, version: 0, at }]));
const late = snapshot(10, shared, one, other);

/** One read of these records, whose result is in the late snapshot. */
const read = (at: number, ...refs: readonly Ref[]) => ({
  records: new Set(refs.flatMap((ref) => late.get(nameOf(ref)) ?? [])),
  at,
});
const nothing = read(Number.NEGATIVE_INFINITY);

/** The outcome of a request that arrived at `start` and whose decision read `refs`. */
const outcome = (writes: boolean, start: number, ...refs: readonly Ref[]): Outcome => ({
  pending: { start } as unknown as Pending,
  deliver: () => undefined,
  readSet: new Map(refs.map((ref) => [nameOf(ref), ref])),
  writes,
});

test("all records that refusals have read are read together, each once", () => {
  const refusals = [outcome(false, 0, shared, one), outcome(false, 5, shared, other)];
  expect(toValidate(refusals, late, nothing)).toEqual([shared, one, other]);
  expect(toValidate(refusals, late, read(5, shared, one, other))).toEqual([]);
});

test("a read without one of the records, or from before a request, validates nothing", () => {
  const refusals = [outcome(false, 0, shared, one), outcome(false, 5, shared, other)];
  for (const before of [read(9, shared, one), read(4, shared, one, other)]) {
    expect(toValidate(refusals, late, before)).toEqual([shared, one, other]);
  }
});

test("a record that was loaded again after the read is read again", () => {
  const refusals = [outcome(false, 0, shared, one)];
  const later = new Map([...late, ...snapshot(11, shared)]);
  expect(toValidate(refusals, later, read(9, shared, one))).toEqual([shared, one]);
});

test("a single record needs any read since the request arrived", () => {
  const alone = [outcome(false, 5, one)];
  expect(toValidate(alone, snapshot(5, one), nothing)).toEqual([]);
  expect(toValidate(alone, snapshot(4, one), nothing)).toEqual([one]);
  expect(toValidate(alone, new Map(), read(9, other))).toEqual([one]);
});

test("a transaction validates its writers, and outcomes that depend on nothing else", () => {
  const [writer, twin, refusal] = [
    outcome(true, 0, shared, one),
    outcome(false, 0),
    outcome(false, 0, one, other),
  ];
  expect(toValidate([writer, twin], late, nothing)).toEqual([]);
  expect(toValidate([writer, refusal], late, nothing)).toEqual([one, other]);
});

test("a refusal is validated together with what an earlier call of its batch has changed", () => {
  const call = (decideCall: (tx: Transaction) => void) =>
    ({
      request: { key: shared, readSet: [shared, one], expectAbsent: [], decide: decideCall },
    }) as unknown as Pending;
  const reader = (...refs: readonly Ref[]) =>
    call((tx) => {
      for (const ref of refs) tx.get(ref);
    });
  const calls = [call((tx) => tx.delete(shared)), reader(shared, one), reader(shared)];
  const { itemStore } = createMemoryStore();
  const noLookups = { find: () => undefined };
  const { outcomes } = decide(late, noLookups, calls, { calendar: 0, wall: 0 }, itemStore);
  expect(toValidate(outcomes, late, read(9, one))).toEqual([shared, one]);
  expect(toValidate(outcomes.slice(2), late, nothing)).toEqual([]);
});
