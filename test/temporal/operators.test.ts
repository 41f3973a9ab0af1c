/** Tests what operators see of a reservation in Temporal. */
import { toJson } from "@bufbuild/protobuf";
import { DurationSchema, durationFromMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asService } from "../../src/platform/words/caller.ts";
import { formatInstant } from "../../src/platform/words/month.ts";
import { reservationLead } from "../../src/reservations/contract/reservations.ts";
import { latenessOf } from "../../src/reservations/rules/reservation.ts";
import {
  cancelReservation,
  rescheduleReservation,
  retryReservation,
} from "../../src/reservations/use-cases/commands.ts";
import {
  failsFrozen,
  inputOf,
  isListed,
  isPending,
  metadataOf,
  recordOf,
  showsDetails,
  waitsInBackoff,
} from "../support/fixtures/operators.ts";
import {
  change,
  endsAsCanceled,
  expectGrantedOnce,
  freeze,
  handleOf,
  reserveAndBegin,
  reserveAndStart,
} from "../support/fixtures/reservations.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

const hour = 3_600_000;
const day = 24 * hour;

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack();
});
afterAll(() => stack.stop());

const inTokyo = (time: number) => formatInstant(time, "Asia/Tokyo");

/** Everything that the Web UI shows of a run, its input excepted. */
async function shownOf(id: string): Promise<string> {
  const handle = handleOf(stack, id);
  const described = await handle.describe();
  const { raw, searchAttributes, typedSearchAttributes } = described;
  const failures = raw.pendingActivities?.map(({ lastFailure }) => lastFailure?.message);
  const texts = [await metadataOf(handle), { searchAttributes, typedSearchAttributes, failures }];
  return JSON.stringify(texts);
}

describe("an operator sees", () => {
  test("how much goes to whom, from whom and when", async () => {
    const id = "seen";
    const handle = await reserveAndStart(stack, { id, points: 120, inMs: 400 * day });
    const { executeTime } = await recordOf(stack, id);
    expect(await inputOf(handle)).toEqual({
      program_id: stack.programId,
      reservation_id: id,
      user_id: id,
      points: 120,
      execute_time_at_start: inTokyo(executeTime),
      reason: "test",
      reserved_by: "ren via tests",
    });
    const { leastMs, mostMs } = reservationLead;
    const described = await handle.describe();
    expect(described).toMatchObject({ historyLength: 1, raw: { pendingActivities: [] } });
    expect(await described.staticSummary()).toBe(
      `120 points for seen, reserved for ${inTokyo(executeTime)}`,
    );
    expect(await described.staticDetails()).toMatch(
      /^\*\*Request Cancellation\*\* cancels it\. \*\*Terminate\*\* does not: .*\*\*Reset\*\*/,
    );
    const leadMs = executeTime - (described.executionTime?.getTime() ?? 0);
    expect(leadMs).toBeGreaterThanOrEqual(leastMs - 1_000);
    expect(leadMs).toBeLessThanOrEqual(mostMs + 1_000);
  });

  test("of one that has begun before, what it waits for", async () => {
    const id = "begun";
    const handle = await reserveAndBegin(stack, { id, points: 120, inMs: 400 * day });
    const { executeTime } = await recordOf(stack, id);
    const waits = `120 points for begun. Waits until ${inTokyo(executeTime)}.`;
    await eventually(async () => expect(await handle.query("details")).toBe(waits));
    expect(await showsDetails(handle, "Waits")).toBe(
      `${waits}\n\nPausing the activity delays nothing: a worker grants what is overdue.\n\n` +
        "- reason: test\n- reserved by: ren via tests\n- reservation: begun",
    );
    expect(await waitsInBackoff(handle)).toBe(`waits until ${inTokyo(executeTime)}`);
  });

  test("it in lists, by each of its search attributes", async () => {
    const id = "listed";
    const handle = await reserveAndStart(stack, { id, points: 77, inMs: 400 * day });
    const { executeTime } = await recordOf(stack, id);
    const [from, to] = [-1, 1].map((ms) => new Date(executeTime + ms).toISOString());
    for (const each of [
      `MeguriProgram = "${stack.programId}"`,
      "MeguriPoints > 76 AND MeguriPoints < 78",
      'MeguriCaller = "tests"',
      'MeguriActor = "ren"',
      'MeguriState IS NULL AND MeguriReason IS NULL AND ExecutionStatus = "Running"',
      `MeguriExecuteTime BETWEEN "${from}" AND "${to}"`,
    ]) {
      await isListed(stack, id, each);
    }
    await handle.cancel();
    await endsAsCanceled(stack, id);
    await isListed(stack, id, 'MeguriState = "CANCELLED" AND ExecutionStatus = "Canceled"');
    await isListed(stack, id, 'MeguriActor = "ren" AND MeguriActor = "temporal"');
  });

  test("who has changed it, by a call or by an Update, and who has retried it", async () => {
    const { deps, programId } = stack;
    const id = "touched";
    await freeze(stack, id, true);
    const handle = await reserveAndBegin(stack, { id, inMs: hour });
    await rescheduleReservation(deps, {
      ...{ programId, reservationId: id, executeTime: Date.now() + 2 * hour },
      ...{ caller: { service: "desk", subject: "mei" }, reason: "" },
    });
    await isListed(stack, id, 'MeguriActor = "mei" AND ExecutionStatus = "Running"');
    const execute_time = new Date().toISOString();
    await handle.executeUpdate("reschedule", { args: [{ execute_time, subject: "yuki" }] });
    await failsFrozen(stack, id);
    await freeze(stack, id, false);
    for (const name of ["ren", "mei", "yuki"]) {
      await isListed(stack, id, `MeguriActor = "${name}" AND MeguriState = "FAILED"`);
    }
    const caller = { service: "desk", subject: "sora" };
    await retryReservation(deps, { programId, reservationId: id, caller, reason: "" });
    await isListed(stack, id, 'MeguriActor = "sora" AND ExecutionStatus = "Completed"');
  });

  test("nothing of the old time after a move, by a call or by an Update", async () => {
    const { deps, programId } = stack;
    const id = "moved";
    const handle = await reserveAndStart(stack, { id, inMs: 40 * day });
    const old = [(await recordOf(stack, id)).executeTime];
    const expectOnly = async (time: number) => {
      await eventually(async () => {
        expect(await waitsInBackoff(handle)).toBe(`waits until ${inTokyo(time)}`);
      });
      // A range, because SQLite compares times as text, without the zeros at their end.
      const around = [time - 1_000, time + 1_000].map((each) => new Date(each).toISOString());
      await isListed(stack, id, `MeguriExecuteTime BETWEEN "${around[0]}" AND "${around[1]}"`);
      const shown = await shownOf(id);
      expect(shown).toContain(inTokyo(time));
      for (const each of old) {
        expect(shown).not.toContain(inTokyo(each).slice(0, 10));
        expect(shown).not.toContain(new Date(each).toISOString().slice(0, 10));
      }
      old.push(time);
    };
    const later = Date.now() + 50 * day;
    const move = { programId, reservationId: id, ...change, executeTime: later };
    await rescheduleReservation(deps, { ...move, reason: "asked for" });
    await expectOnly(later);
    await showsDetails(handle, "Changed last by tests (asked for).");
    const earlier = Date.now() + 30 * day;
    const execute_time = new Date(earlier).toISOString();
    const args = [{ execute_time, subject: "yuki" }] as [unknown];
    await handle.executeUpdate("reschedule", { args });
    await expectOnly(earlier);
    await showsDetails(handle, "Changed last by yuki via temporal.");
  });

  test("that it is tried again while the store is away, and with which result", async () => {
    const id = "retrying";
    stack.storeDown(true);
    const handle = await reserveAndStart(stack, { id });
    const failure = await eventually(async () => {
      const last = await isPending(handle, "grantAgain", "SCHEDULED");
      expect(last).toBeDefined();
      return last;
    });
    expect(failure?.applicationFailureInfo?.type).toBe("STORE_UNAVAILABLE");
    await isListed(stack, id, 'MeguriState = "RETRYING" AND MeguriReason = "STORE_UNAVAILABLE"');
    const details = await showsDetails(handle, "tried again at least every 15 s");
    expect(details).toContain("(STORE_UNAVAILABLE)");
    expect(details).toContain('`MeguriReason = "STORE_UNAVAILABLE"`');
    expect(details).not.toMatch(/AWS|DynamoDB Local|ECONN|socket|arn:/);
    stack.storeDown(false);
    await expectGrantedOnce(stack, id);
    await handle.result();
    await isListed(stack, id, 'MeguriState = "DONE" AND MeguriReason IS NULL');
  });

  test("when it was granted, how late, and the balance", async () => {
    const id = "granted";
    const handle = await reserveAndStart(stack, { id, points: 30, inMs: 500 });
    const reservation = await expectGrantedOnce(stack, id, 30);
    const execute_time = inTokyo(reservation.executeTime);
    const grant_time = inTokyo(reservation.grant?.time ?? 0);
    const lateness = toJson(DurationSchema, durationFromMs(latenessOf(reservation)));
    expect(await handle.result()).toEqual({
      ...{ step: "DONE", points: 30, available_points: 30, entry_number: 1 },
      ...{ execute_time, grant_time, lateness },
    });
    expect(await showsDetails(handle, "Granted")).toBe(
      `30 points for granted. Granted at ${grant_time}, ${lateness} late: ` +
        "30 points available, ledger entry 1.\n\n- reason: test\n- reserved by: ren via tests\n" +
        "- reservation: granted",
    );
    await isListed(stack, id, 'MeguriState IS NULL AND ExecutionStatus = "Completed"');
  });

  test("why it was refused, and what to do now", async () => {
    const id = "refused";
    await freeze(stack, id, true);
    const handle = await reserveAndStart(stack, { id });
    await expect(handle.result()).rejects.toMatchObject({
      cause: { type: "ACCOUNT_FROZEN", nonRetryable: true },
    });
    await isListed(stack, id, 'MeguriState = "FAILED" AND MeguriReason = "ACCOUNT_FROZEN"');
    const details = await showsDetails(handle, "(ACCOUNT_FROZEN)");
    expect(details).toContain("**What to do now:** unfreeze the account, then call");
    expect(details).toContain("To give it up, call CancelReservation.");
  });

  test("who cancelled it and why, by a call and by an Update alike", async () => {
    const { deps, programId } = stack;
    const reason = "the [shop](http://a.test) closed";
    const update = { subject: "desk", reason };
    const cases = [
      ["by-call", asService("desk"), "desk"],
      ["by-update", { service: "temporal", subject: "desk" }, "desk via temporal"],
    ] as const;
    for (const [id, caller, shown] of cases) {
      const given = { caller, reason };
      const handle = await reserveAndStart(stack, { id, inMs: hour });
      if (id === "by-update") await handle.executeUpdate("cancel", { args: [update] });
      else await cancelReservation(deps, { programId, reservationId: id, ...given });
      await endsAsCanceled(stack, id);
      expect(await recordOf(stack, id)).toMatchObject({ state: "CANCELLED", lastChange: given });
      await showsDetails(handle, "Cancelled");
      expect(await handle.query("details")).toBe(
        `10 points for ${id}. Cancelled by ${shown} (the \\[shop\\](http\\://a.test) closed).`,
      );
    }
  });

  test("a description of every Update, of the query and of the signal", async () => {
    const handle = await reserveAndBegin(stack, { id: "described", inMs: hour });
    const { definition } = await metadataOf(handle);
    const described = (of: keyof typeof definition) =>
      definition[of].filter(({ name }) => !name.startsWith("__"));
    for (const of of ["queryDefinitions", "signalDefinitions", "updateDefinitions"] as const) {
      for (const { description } of described(of)) expect(description).toMatch(/^[A-Z].*[.:}]$/s);
    }
    const names = described("updateDefinitions").map(({ name }) => name);
    expect(names.sort()).toEqual(["cancel", "change_points", "reschedule", "retry"]);
    expect(described("queryDefinitions").map(({ name }) => name)).toEqual(["details"]);
    expect(described("signalDefinitions").map(({ name }) => name)).toEqual(["refresh"]);
  });
});
