/** Tests decisions that ask for records which their requests have not named. */
import { expect, test } from "vitest";
import { inboxRef } from "../../../src/feed/ports/records.ts";
import { emptyInbox, type Inbox } from "../../../src/feed/rules/inbox.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import type { Ref } from "../../../src/platform/ports/records.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

const [first, ...rest] = ["o1", "o2", "o3"].map((id) => inboxRef(id)) as [
  Ref<"inbox">,
  ...Ref<"inbox">[],
];
const inboxAt = (version: number): Inbox => ({ ...emptyInbox, version });

/** Puts into the first inbox the sum of the versions of all, of which the request names only it. */
const sum = ({ engine }: Deps, decided = () => {}) =>
  engine.transact<number>({
    key: first,
    readSet: [first],
    expectAbsent: [],
    call: undefined,
    decide(tx) {
      const own = tx.get(first) ?? emptyInbox;
      const others = tx.getAll(rest);
      decided();
      const total = others.reduce((all, inbox) => all + (inbox?.version ?? 0), own.version);
      tx.put(first, inboxAt(total));
      return total;
    },
  });

function setUp() {
  const all = memoryDeps();
  for (const [i, ref] of [first, ...rest].entries()) all.store.force(ref, inboxAt(i + 1));
  return all;
}

test("they are read together by one more request, and are conditions of the write", async () => {
  const { deps, store } = setUp();
  expect(await sum(deps)).toBe(6);
  expect(store.stats).toMatchObject({ reads: 2, readItems: 3, commits: 1, writtenItems: 3 });
});

test("one that another process changes before the commit is decided on again", async () => {
  const { deps, store } = setUp();
  let commits = 0;
  store.arriving = ({ op }) => {
    if (op === "commit" && ++commits === 1) store.force(rest[0] as Ref<"inbox">, inboxAt(10));
    return undefined;
  };
  expect(await sum(deps)).toBe(14);
  expect(commits).toBe(2);
});

test("a cached one that has changed together with a named one is decided on as found", async () => {
  const { deps, store } = setUp();
  const second = rest[0] as Ref<"inbox">;
  await deps.engine.transact({
    key: first,
    readSet: [first, second],
    expectAbsent: [],
    call: undefined,
    decide(tx) {
      tx.put(first, inboxAt(2));
      tx.put(second, inboxAt(3));
    },
  });
  for (const ref of [first, second]) store.force(ref, inboxAt(10));
  store.resetStats();
  expect(await sum(deps)).toBe(23);
  // The first commit finds both as they are now.
  expect(store.stats.commits).toBe(2);
});

test("calls that wait together see each other's writes to them", async () => {
  const { deps, store } = setUp();
  let decisions = 0;
  const decided = () => {
    decisions += 1;
  };
  const calls = [sum(deps, decided), sum(deps, decided), sum(deps, decided)];
  expect(await Promise.all(calls)).toEqual([6, 11, 16]);
  expect(decisions).toBe(3);
  expect((await deps.reader.get(first))?.value.version).toBe(16);
  // The first call is sent alone, and the others wait for it.
  expect(store.stats.commits).toBe(2);
});

test("a record that does not exist may be asked for, put and deleted", async () => {
  const { deps } = setUp();
  const absent = inboxRef("o4");
  const change = (write: "put" | "delete") =>
    deps.engine.transact<boolean>({
      key: first,
      readSet: [],
      expectAbsent: [],
      call: undefined,
      decide(tx) {
        const found = tx.get(absent);
        if (write === "put") tx.put(absent, inboxAt(1));
        else tx.delete(absent);
        return found !== undefined;
      },
    });
  expect(await change("put")).toBe(false);
  expect(await change("put")).toBe(true);
  expect(await change("delete")).toBe(true);
  expect(await deps.reader.get(absent)).toBeUndefined();
});

test("an answer without a write rests on all of them at one moment", async () => {
  const { deps, store } = setUp();
  const read = () =>
    deps.engine.transact<readonly number[]>({
      key: first,
      readSet: [first],
      expectAbsent: [],
      call: undefined,
      decide: (tx) => [first, ...rest].map((ref) => tx.get(ref)?.version ?? 0),
    });
  const [second, third] = rest as [Ref<"inbox">, Ref<"inbox">];
  let isChanged = false;
  store.arriving = ({ refs }) => {
    // Between the two reads of one record each, both change together.
    if (!isChanged && refs.length === 1 && refs[0]?.id === third.id) {
      store.force(second, inboxAt(20));
      store.force(third, inboxAt(30));
      isChanged = true;
    }
    return undefined;
  };
  expect(await read()).toEqual([1, 20, 30]);
  expect(isChanged).toBe(true);
});
