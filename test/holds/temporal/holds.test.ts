/** Tests that the run of a hold ends with it: at its time, by a capture or by a release. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { releaseHold } from "../../../src/holds/use-cases/commands.ts";
import { startRun } from "../../../src/reservations/use-cases/workflow-runs.ts";
import {
  capture,
  expectReleased,
  expectTimedOut,
  holdAndBegin,
  holdAndStart,
  holdCall,
  holdRunOf,
  holdWithoutRun,
  released,
} from "../../support/fixtures/holds.ts";
import {
  inputOf,
  listed,
  resetRun,
  showsDetails,
  statusOf,
} from "../../support/fixtures/operators.ts";
import { verified } from "../../support/fixtures/reservations.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import {
  startWorkerStack,
  type WorkerStack,
  withoutTemporal,
} from "../../support/servers/worker.ts";

const hour = 3_600_000;

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack();
});
afterAll(() => stack.stop());

describe.concurrent("the run of a hold", () => {
  test("releases it at its time, not before, and says so", async () => {
    const handle = await holdAndStart(stack, "due", 1_500);
    await expectTimedOut(stack, "due");
    expect(await handle.result()).toMatchObject({
      state: "EXPIRED",
      captured_points: 0,
      released_points: 10,
    });
    await showsDetails(handle, "0 captured, 10 released");
    await eventually(async () =>
      expect(await listed(stack, 'MeguriUser = "due" AND MeguriState = "EXPIRED"')).toEqual([
        handle.workflowId,
      ]),
    );
  });

  test("shows operators who holds how much until when, and why", async () => {
    const handle = await holdAndBegin(stack, "shown", hour);
    const details = await showsDetails(handle, "10 points of shown. Held until 20");
    expect(details).toContain("reason: test");
    expect(details).toContain("held by: ren via tests");
    expect(details).not.toContain("Request Cancellation");
    const description = await handle.describe();
    expect(await description.staticDetails()).toMatch(/^\*\*Request Cancellation\*\* releases/);
    expect(await inputOf(handle)).toMatchObject({ user_id: "shown", points: 10, reason: "test" });
    const query =
      'MeguriUser = "shown" AND MeguriPoints = 10 AND MeguriCaller = "tests"' +
      ' AND MeguriActor = "ren"' +
      ` AND MeguriExecuteTime > "${new Date().toISOString()}"`;
    await eventually(async () => expect(await listed(stack, query)).toEqual([handle.workflowId]));
  });

  test("ends with a capture", async () => {
    const handle = await holdAndStart(stack, "captured", hour);
    await capture(stack, "captured", 4);
    expect(await handle.result()).toMatchObject({ captured_points: 4, released_points: 6 });
    await showsDetails(handle, "Ended by a capture: 4 captured, 6 released");
    expect(await verified(stack, "captured")).toEqual({ balance: 96, entries: 4 });
    const query = 'MeguriUser = "captured" AND MeguriState IS NULL';
    await eventually(async () => expect(await listed(stack, query)).toEqual([handle.workflowId]));
  });

  test("that is started after the capture ends at the end of the hold", async () => {
    const hold = await holdWithoutRun(stack, "early", 5_000);
    await capture(stack, "early");
    await startRun(stack.deps, hold);
    expect(await holdRunOf(stack, "early").result()).toMatchObject({ state: "CAPTURED" });
  });

  test("ends with a release", async () => {
    const handle = await holdAndStart(stack, "released", hour);
    const caller = { service: "desk", subject: "yuki" };
    const call = { ...holdCall(stack, "released"), caller, reason: "order *7* is cancelled" };
    await releaseHold(stack.deps, call);
    const release = { caller, reason: call.reason };
    expect(await handle.result()).toMatchObject({
      state: "RELEASED",
      released_points: 10,
      release,
    });
    await showsDetails(
      handle,
      "Released by yuki via desk (order \\*7\\* is cancelled): 0 captured, 10 released.",
    );
    const query = 'MeguriUser = "released" AND MeguriActor = "ren" AND MeguriActor = "yuki"';
    await eventually(async () => expect(await listed(stack, query)).toEqual([handle.workflowId]));
  });
});

describe.concurrent("Request Cancellation", () => {
  test("releases a hold", async () => {
    const handle = await holdAndStart(stack, "canceled", hour);
    await handle.cancel();
    await expectReleased(stack, "canceled");
    expect(await statusOf(handle)).toBe("CANCELLED");
  });

  test("is not needed again by a run that is reset after it", async () => {
    const handle = await holdAndBegin(stack, "canceled-reset", hour);
    await showsDetails(handle, "Held until");
    await handle.cancel();
    await expectReleased(stack, "canceled-reset");
    const again = await resetRun(stack, handle, "first");
    await again.result().catch(() => {});
    await showsDetails(
      again,
      "Released by temporal (cancellation requested in Temporal): 0 captured",
    );
    expect(await verified(stack, "canceled-reset")).toEqual(released);
  });

  test("that comes after a capture changes nothing", async () => {
    const handle = await holdAndBegin(stack, "too-late", hour);
    await showsDetails(handle, "Held until");
    await capture(stack, "too-late", 10, withoutTemporal(stack.deps));
    await handle.cancel();
    expect(await handle.result()).toMatchObject({ state: "CAPTURED", captured_points: 10 });
    expect(await verified(stack, "too-late")).toEqual({ balance: 90, entries: 3 });
  });
});
