/** Tests which failures of its work a worker counts, by their kinds and reasons. */
import { MockActivityEnvironment } from "@temporalio/testing";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createActivities } from "../../activities/index.ts";
import { notifyMember } from "../../src/feed/use-cases/notifications/notify.ts";
import type { WorkerDeps } from "../../src/hub/deps.ts";
import { shardOf } from "../../src/platform/dynamodb/codec.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { DomainError } from "../../src/platform/words/errors.ts";
import { shardCount } from "../../src/points/ports/points.ts";
import { programRef } from "../../src/points/ports/records.ts";
import { freezeAccount } from "../../src/points/use-cases/commands.ts";
import { createAccountFixture, grant, programId } from "../support/fixtures/account-fixture.ts";
import { approve, comesTo, submit } from "../support/fixtures/bulk-grants.ts";
import { noObservers } from "../support/fixtures/no-observers.ts";
import { reaches, reserveAndStart } from "../support/fixtures/reservations.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

vi.mock(import("../../src/feed/use-cases/notifications/notify.ts"), { spy: true });

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack();
});
afterAll(() => stack?.stop());

const expectCounted = (labels: string) =>
  eventually(async () => {
    const page = await stack.metrics.registry.metrics();
    expect(page).toContain(`meguri_failures_total{${labels}} 1\n`);
  });

const freeze = (userId: string) => {
  const { deps, programId } = stack;
  const name = { programId, userId, deadline: undefined };
  return freezeAccount(deps, { ...name, eventId: "f", reason: "", caller: asService("tests") });
};

test("a reservation and a bulk grant of frozen accounts are counted once each", async () => {
  const { deps, programId } = stack;
  await freeze("frozen");
  await reserveAndStart(stack, { id: "refused", userId: "frozen" });
  await reaches(stack, "refused", "FAILED");
  await expectCounted('kind="reservation",reason="ACCOUNT_FROZEN"');
  await submit(deps, programId, { id: "some-fail", userIds: ["frozen-later", "well"] });
  const waiting = await comesTo(stack, "some-fail", "AWAITING_APPROVAL");
  await freeze("frozen-later");
  await approve(deps, waiting);
  await comesTo(stack, "some-fail", "DONE_WITH_FAILURES");
  await expectCounted('kind="bulk_grant",reason="DONE_WITH_FAILURES"');
});

test("each file that a pick-up reports is counted by its reason", async () => {
  const onFailed = vi.fn();
  const reporter = { sendPickUp: async () => {} };
  const deps = { reporter } as unknown as WorkerDeps;
  const { reportPickUp } = createActivities({ deps, ...noObservers, onFailed });
  await new MockActivityEnvironment().run(reportPickUp, {
    program_id: "shop",
    files: [
      { source: "in/a.csv", reason: "EMPTY_SHEET", message: "it has no rows" },
      { source: "in/b.csv", reason: "NOT_MOVED", message: "away" },
    ],
    more_count: 0,
  });
  expect(onFailed.mock.calls).toEqual([
    ["pick_up", "EMPTY_SHEET"],
    ["pick_up", "NOT_MOVED"],
  ]);
});

test("a notice that fails is counted by its reason", async () => {
  const onFailed = vi.fn();
  const { deps, store } = createAccountFixture(1);
  store.force(programRef(programId), {
    programId,
    timeZone: "Asia/Tokyo",
    lifetimes: [{ lifetimeMonths: 1, effectiveTime: 0 }],
    createTime: 0,
    notices: { expiryDays: 7, reservedGrants: false },
  });
  await grant(deps, "g", 10, { userId: "aoi" });
  vi.mocked(notifyMember).mockRejectedValue(new DomainError("INVALID_REQUEST", "full"));
  const { notifyExpiring } = createActivities({ deps, ...noObservers, onFailed });
  await new MockActivityEnvironment().run(notifyExpiring, {
    program_id: programId,
    month: "2026-02",
    shard: shardOf("aoi", shardCount),
  });
  expect(onFailed.mock.calls).toEqual([["notice", "INVALID_REQUEST"]]);
});
