/** Tests what calls about holds store and start, on the store in memory. */
import { expect, test } from "vitest";
import { capturePoints, holdPoints } from "../../../src/holds/use-cases/commands.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { grantPoints } from "../../../src/points/use-cases/commands.ts";
import {
  createReservationFixture,
  programId,
  spiedWorkflows,
} from "../../support/fixtures/memory-reservations.ts";

const common = {
  ...{ programId, userId: "u", reason: "", caller: asService("tests") },
  deadline: undefined,
};

function fixture() {
  const workflows = spiedWorkflows();
  const { deps: given, clock } = createReservationFixture(workflows);
  const deps = { ...given, background: (task: () => Promise<unknown>) => void task() };
  const grant = (points: number) => grantPoints(deps, { ...common, eventId: "g", points });
  const hold = (holdId: string, points: number, validateOnly = false) =>
    holdPoints(deps, {
      ...{ ...common, holdId, points, validateOnly, allowPartial: false },
      ...{ until: clock.time + 3_600_000, expiredPointsPolicy: "ORIGINAL_EXPIRY" },
    });
  return { deps, workflows, grant, hold };
}

test("changes by holds leave snapshots in the ledger, too", async () => {
  const { deps, grant, hold } = fixture();
  await grant(100);
  for (let i = 0; i < 40; i++) {
    await hold(`h${i}`, 1);
    await capturePoints(deps, {
      ...{ ...common, holdId: `h${i}`, eventId: "c", points: undefined, moreFollow: false },
    });
  }
  const query = { from: 1, to: 100, newestFirst: false, types: [] };
  const page = { size: 100, cursor: undefined };
  const { items } = await deps.reader.entries({ programId, userId: "u" }, query, page);
  const numbers = items.filter(({ snapshot }) => snapshot).map(({ number }) => number);
  expect(numbers).toEqual([32, 64]);
});

test("a dry run starts no run, also of a hold that is there", async () => {
  const { workflows, grant, hold } = fixture();
  await grant(10);
  await hold("a", 1, true);
  expect(workflows.startHold).not.toHaveBeenCalled();
  await hold("a", 1);
  await expect.poll(() => workflows.startHold.mock.calls).toHaveLength(1);
  await hold("a", 1, true);
  // What a call starts in the background has begun before its answer.
  await hold("b", 1);
  await expect.poll(() => workflows.startHold.mock.calls).toHaveLength(2);
});
