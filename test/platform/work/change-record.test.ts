/** Tests the change of one record: what is written, deleted and left as it is. */
import { expect, test } from "vitest";
import { testClockRef } from "../../../src/platform/ports/records.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { changeRecord } from "../../../src/platform/work/change-record.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

const ref = testClockRef;

function setUp() {
  const { deps, store } = memoryDeps();
  const stored = async () => (await deps.reader.get(ref))?.value;
  return { deps, store, stored };
}

test.each([false, true])(
  "writes what the change returns: expectAbsent %s",
  async (expectAbsent) => {
    const { deps, store, stored } = setUp();
    const change = () =>
      changeRecord(deps, { ref, expectAbsent }, (clock) => ({ time: (clock?.time ?? 0) + 1 }));
    expect(await change()).toMatchObject({ record: { time: 1 }, isChanged: true });
    expect(await change()).toMatchObject({ record: { time: 2 }, isChanged: true });
    expect(await stored()).toEqual({ time: 2 });
    // A record that is wrongly taken as absent costs one more attempt.
    expect(store.stats.commits).toBe(expectAbsent ? 3 : 2);
  },
);

test("writes nothing when the change returns the same record, or none for none", async () => {
  const { deps, store, stored } = setUp();
  expect(await changeRecord(deps, { ref }, (clock) => clock)).toMatchObject({ isChanged: false });
  await changeRecord(deps, { ref }, () => ({ time: 5 }));
  store.resetStats();
  const same = await changeRecord(deps, { ref, expectAbsent: true }, (clock) => clock);
  expect(same).toMatchObject({ record: { time: 5 }, isChanged: false });
  expect(store.stats.commits).toBe(0);
  expect(await stored()).toEqual({ time: 5 });
});

test("deletes the record when the change returns undefined", async () => {
  const { deps, stored } = setUp();
  await changeRecord(deps, { ref }, () => ({ time: 5 }));
  const deleted = await changeRecord(deps, { ref }, () => undefined);
  expect(deleted).toMatchObject({ record: undefined, isChanged: true });
  expect(await stored()).toBeUndefined();
});

test("writes nothing when the change refuses", async () => {
  const { deps, stored } = setUp();
  await changeRecord(deps, { ref }, () => ({ time: 5 }));
  const refused = changeRecord(deps, { ref }, () => {
    throw new DomainError("WRONG_STATE", "no");
  });
  await expect(refused).rejects.toMatchObject({ reason: "WRONG_STATE" });
  expect(await stored()).toEqual({ time: 5 });
});
