import { expect, test } from "vitest";
import { groupRef, inboxRef, type Ref, targetRef } from "../../src/app/ports.ts";
import { type Base, type Outcome, type Pending, unproven } from "../../src/store/batch.ts";
import { nameOf } from "../../src/store/items.ts";

const name = { type: "post", id: "p" };
const [shared, one, other] = [inboxRef("owner"), targetRef(name), groupRef("owner", name, "like")];

const known = (at: number, ...refs: readonly Ref[]): Base =>
  new Map(refs.map((ref) => [nameOf(ref), { ref, value: undefined, version: 0, at }]));

/** A call that came in at `since`, looked at `refs` and wrote nothing. */
const refusal = (since: number, ...refs: readonly Ref[]): Outcome => ({
  pending: { call: { absent: [] } } as unknown as Pending,
  tell: () => undefined,
  touched: new Map(refs.map((ref) => [nameOf(ref), false])),
  writes: false,
  since,
});

test("refusals that share a record are proven by one read, not each by its own in turn", () => {
  const outcomes = [refusal(0, shared, one), refusal(5, shared, other)];
  const base = new Map([...known(3, shared, one), ...known(6, other)]);
  const [first] = unproven(base, outcomes);
  expect(first).toEqual([shared, one, other]);
  expect(unproven(known(7, shared, one, other), outcomes)).toEqual([[], []]);
});
