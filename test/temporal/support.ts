import type { WorkflowHandle } from "@temporalio/client";
import { expect } from "vitest";
import { freezeAccount, unfreezeAccount } from "../../src/app/points.ts";
import { accountRef, type Deps } from "../../src/app/ports.ts";
import { createReservation, getReservation } from "../../src/app/reservations.ts";
import { verifyAccount } from "../../src/app/verify-points.ts";
import { reservationWorkflowId } from "../../src/contract.ts";
import { balanceOf } from "../../src/domain/account.ts";
import { DomainError } from "../../src/domain/errors.ts";
import type { WorkerStack } from "../support/worker.ts";

/** Polls until `check` passes; its last failure otherwise. */
export async function eventually<T>(check: () => Promise<T>, timeoutMs = 30_000): Promise<T> {
  const limit = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > limit) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** Sends the same call again while it may succeed later, as clients do: a busy machine is slow. */
export async function patiently<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof DomainError) || !error.retryable) throw error;
    }
  }
}

/** What a test reserves; 10 points for a user of the reservation's own, due at once. */
export interface Wish {
  readonly id: string;
  readonly user?: string;
  readonly points?: number;
  /** From now; may be negative. */
  readonly inMs?: number;
}

export function reserve(deps: Deps, program: string, wish: Wish) {
  const { id, user = id, points = 10, inMs = 0 } = wish;
  const executeTime = Date.now() + inMs;
  const asked = { program, id, user, points, reason: "test", executeTime, caller: "tests" };
  return patiently(() => createReservation(deps, asked));
}

export const stateOf = async ({ deps, program }: WorkerStack, id: string) =>
  (await getReservation(deps, { program, id })).row.state;

/** Waits until the reservation is in `state` and answers its row. */
export const reaches = (
  { deps, program }: WorkerStack,
  id: string,
  state: string,
  timeoutMs?: number,
) =>
  eventually(async () => {
    const { row } = await getReservation(deps, { program, id });
    expect(row.state).toBe(state);
    return row;
  }, timeoutMs);

/** The balance and the number of ledger entries, after the ledger has been verified. */
export async function verified({ deps, program }: WorkerStack, user: string) {
  const { differences, entries } = await verifyAccount(deps, { program, user }, false);
  expect(differences).toEqual([]);
  const found = await deps.reader.get(accountRef(program, user));
  return { balance: found ? balanceOf(found.value) : 0, entries };
}

/** Expects that the points of the reservation were granted exactly once. */
export async function expectGrantedOnce(stack: WorkerStack, id: string, points = 10) {
  const row = await reaches(stack, id, "DONE");
  expect(await verified(stack, row.user)).toEqual({ balance: points, entries: 1 });
  return row;
}

export const handleOf = ({ client, program }: WorkerStack, id: string): WorkflowHandle =>
  client.workflow.getHandle(reservationWorkflowId(program, id));

/** Reserves and waits until the workflow has been started, which the answer does not. */
export async function reserveAndStart(stack: WorkerStack, wish: Wish): Promise<WorkflowHandle> {
  await reserve(stack.deps, stack.program, wish);
  const handle = handleOf(stack, wish.id);
  await eventually(() => handle.describe());
  return handle;
}

export function freeze({ deps, program }: WorkerStack, user: string, frozen: boolean) {
  const change = frozen ? freezeAccount : unfreezeAccount;
  const eventId = `${frozen ? "freeze" : "unfreeze"}-${user}`;
  const asked = { program, user, eventId, reason: "", caller: "tests", deadline: undefined };
  return patiently(() => change(deps, asked));
}

/** The types of a workflow's events, in order. */
export async function eventsOf(handle: WorkflowHandle): Promise<string[]> {
  const { events } = await handle.fetchHistory();
  return (events ?? []).map((event) => {
    const name = Object.keys(event).find((key) => key.endsWith("EventAttributes")) ?? "";
    return name.replace("EventAttributes", "");
  });
}
