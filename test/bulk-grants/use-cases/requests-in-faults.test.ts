/** Tests requests for one user while the store loses answers and others use the points. */
import { expect, test } from "vitest";
import { requestGrant, requestRevoke } from "../../../src/bulk-grants/use-cases/request.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { grantPoints, usePoints } from "../../../src/points/use-cases/commands.ts";
import { getBalance } from "../../../src/points/use-cases/queries.ts";
import { openStore, runAll, start, validate } from "../../support/fixtures/bulk-steps.ts";
import { patiently } from "../../support/fixtures/waiting.ts";
import { programId, show } from "../../support/models/bulk-use-cases.ts";
import type { Fault } from "../../support/stores/memory-store.ts";

const faults: readonly Fault[] = [
  "lost after",
  "conflict",
  "lost before",
  "lost after",
  "throttled",
];

const event = (eventId: string, points: number) => ({
  ...{ programId, userId: "aoi", eventId, points, reason: "" },
  ...{ caller: asService("shop"), deadline: undefined },
});

test("requests that are repeated take and give each point once, beside uses", async () => {
  const { deps, store } = await openStore();
  await grantPoints(deps, event("order-17", 100));
  const of = (bulkGrantId: string) => ({
    ...{ programId, bulkGrantId, userId: "aoi", reason: "late", submitter: asService("ann") },
  });
  const grant = { origin: "c", eventId: "order-17" } as const;
  let commits = 0;
  store.arriving = ({ token }) => {
    if (token === "") return undefined;
    commits += 1;
    return commits % 2 === 1 ? faults[Math.floor(commits / 2) % faults.length] : undefined;
  };
  const ids = ["r-1", "r-2"];
  for (const id of [...ids, ...ids]) {
    await patiently(() => requestRevoke(deps, { ...of(id), grant }));
  }
  const ask = () => requestGrant(deps, { ...of("g-1"), points: 7 });
  await Promise.all([patiently(ask), patiently(ask)]);
  ids.push("g-1");
  for (const id of ids) {
    await patiently(() => validate(deps, id, 1));
    await patiently(() => start(deps, id, 1));
  }
  const use = (id: string) => usePoints(deps, { ...event(id, 30), allowPartial: true });
  await Promise.all([
    ...["use-1", "use-2"].map((id) => patiently(() => use(id))),
    ...ids.map((id) => patiently(() => runAll(deps, id, 1, 1))),
  ]);
  store.arriving = undefined;
  const shown = await Promise.all(ids.map((id) => show(deps, id, 10)));
  expect(shown.map(({ head }) => [head.state, head.revision])).toEqual(ids.map(() => ["DONE", 1]));
  const [first = 0, second = 0, third] = shown.map(({ head }) => head.result?.grantedPoints);
  const { account, availablePoints } = await getBalance(deps, { programId, userId: "aoi" });
  const { issuedPoints, usedPoints, revokedPoints } = account.totals;
  // One entry for each of the two grants, the two uses and the two revokes.
  expect({ issuedPoints, third, availablePoints, last: account.last }).toEqual({
    ...{ issuedPoints: 107, third: 7, availablePoints: 7, last: 6 },
  });
  expect([usedPoints + revokedPoints, first + second]).toEqual([100, revokedPoints]);
});
