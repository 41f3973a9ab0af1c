/**
 * A workload of all services whose calls have ids, so that each can be sent again. Nothing is
 * muted, because an event that is sent again after a mute notifies nobody.
 */
import { getBulkGrant } from "../../../src/bulk-grants/use-cases/queries.ts";
import { markAllNotificationsRead } from "../../../src/feed/use-cases/notifications/commands.ts";
import { inboxOf } from "../../../src/feed/use-cases/notifications/inbox.ts";
import { notify } from "../../../src/feed/use-cases/notifications/notify.ts";
import { retractEvent } from "../../../src/feed/use-cases/notifications/retract.ts";
import { react, unreact } from "../../../src/feed/use-cases/reactions/commands.ts";
import { deleteTarget, registerTarget } from "../../../src/feed/use-cases/reactions/targets.ts";
import { capturePoints, holdPoints, releaseHold } from "../../../src/holds/use-cases/commands.ts";
import { refundPoints } from "../../../src/holds/use-cases/refund.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { grantPoints, revokePoints, usePoints } from "../../../src/points/use-cases/commands.ts";
import { createProgram } from "../../../src/points/use-cases/programs/commands.ts";
import { reservationRef } from "../../../src/reservations/ports/records.ts";
import {
  cancelReservation,
  createReservation,
} from "../../../src/reservations/use-cases/commands.ts";
import { executeReservation } from "../../../src/reservations/use-cases/execute.ts";
import { start, submit, validate } from "../fixtures/bulk-steps.ts";
import { answerTo, programId } from "./bulk-use-cases.ts";

/** A call, or a step of a worker. Sent again, it does what is left of it. */
export type Step = (deps: Deps) => Promise<unknown>;

export const users = ["ada", "ben_1", "cyd", "dan"];
export const owners = ["ann", "bob"];
const targets = ["one", "two", "six"];
const people = ["p1", "p2", "p3", "p4", "p5", "p6", "p7"];
export const bulkGrants = ["spring", "back"];

const caller = asService("shop");
const one = <T>(random: () => number, of: readonly T[]): T =>
  of[Math.floor(random() * of.length)] as T;

/** What exists before any table is restored. */
export async function begin(deps: Deps): Promise<void> {
  await createProgram(deps, { programId, timeZone: "Asia/Tokyo", lifetimeMonths: 12 });
  for (const userId of users) await grantStep(userId, `begin-${userId}`, 10_000)(deps);
  for (const [i, id] of targets.entries()) {
    const ownerId = owners[i % owners.length] as string;
    const target = { type: "post", id };
    await registerTarget(deps, { target, ownerId, title: id, link: "" });
  }
}

const change = (userId: string, eventId: string) => ({
  ...{ programId, userId, eventId, reason: "why", caller, deadline: undefined },
});

const grantStep =
  (userId: string, eventId: string, points: number): Step =>
  (deps) =>
    grantPoints(deps, { ...change(userId, eventId), points });

/** The steps of a workload, in their order; those of one list are sent together. */
export function createWorkload(random: () => number, length: number): Step[][] {
  const bulk = [...bulkSteps("spring", undefined), ...bulkSteps("back", "spring")];
  const made = nothingMade();
  const all: Step[][] = [];
  for (let i = 0; i < length; i++) {
    const count = random() < 0.3 ? 3 : 1;
    const fresh = nothingMade();
    const next = (k: number) => nextStep(random, `${i}.${k}`, made, fresh);
    all.push(Array.from({ length: count }, (_, k) => next(k)));
    for (const [name, list] of Object.entries(fresh)) made[name as keyof Made].push(...list);
    const step = i % 4 === 3 ? bulk.shift() : undefined;
    if (step) all.push([step]);
  }
  return [...all, ...bulk.map((step) => [step])];
}

/** What later steps are about. Steps that are sent together know nothing of each other. */
interface Made {
  /** With the hold of a capture. */
  readonly uses: [string, string, string?][];
  readonly grants: [string, string][];
  readonly reservations: [string, string][];
  /** Those that are not at their end. */
  readonly holds: [string, string][];
  readonly events: [string, string][];
}

const nothingMade = (): Made => ({
  ...{ uses: [], grants: [], reservations: [], holds: [], events: [] },
});

function nextStep(random: () => number, id: string, made: Made, fresh: Made): Step {
  const userId = one(random, users);
  const turn = random();
  if (turn < 0.12) {
    fresh.grants.push([userId, `g${id}`]);
    return grantStep(userId, `g${id}`, 1 + Math.floor(random() * 9));
  }
  if (turn < 0.24) {
    fresh.uses.push([userId, `u${id}`]);
    const points = 1 + Math.floor(random() * 9);
    return (deps) => usePoints(deps, { ...change(userId, `u${id}`), points, allowPartial: false });
  }
  if (turn < 0.3) return reversal(made, id);
  if (turn < 0.42) return reservationStep(random, id, userId, fresh);
  if (turn < 0.55) return executionStep(random, made);
  if (turn < 0.62) return holdStep(random, id, userId, fresh);
  if (turn < 0.75) return endOfHoldStep(random, id, made, fresh);
  return reactionStep(random, id, made, fresh);
}

function reversal({ uses, grants }: Made, id: string): Step {
  const used = uses.shift();
  if (used) {
    const [userId, useEventId, holdId] = used;
    const input = {
      useEventId,
      holdId,
      points: undefined,
      expiredPointsPolicy: "ORIGINAL_EXPIRY",
    } as const;
    return (deps) => refundPoints(deps, { ...change(userId, `x${id}`), ...input });
  }
  const granted = grants.shift();
  if (!granted) return async () => undefined;
  const [userId, eventId] = granted;
  const grant = { origin: "c", eventId } as const;
  return (deps) => revokePoints(deps, { ...change(userId, `x${id}`), grant });
}

function reservationStep(random: () => number, id: string, userId: string, fresh: Made): Step {
  const reservationId = `r${id}`;
  const input = { programId, reservationId, userId, points: 7, reason: "", caller };
  const past = { executeTime: 1_000, allowPastExecuteTime: true };
  const create: Step = (deps) => createReservation(deps, { ...input, ...past });
  if (random() < 0.8) {
    fresh.reservations.push([userId, reservationId]);
    return create;
  }
  const name = { programId, reservationId, caller, reason: "no" };
  return async (deps) => [await create(deps), await cancelReservation(deps, name)];
}

function holdStep(random: () => number, id: string, userId: string, fresh: Made): Step {
  fresh.holds.push([userId, `h${id}`]);
  const input = { programId, userId, holdId: `h${id}`, reason: "", caller, allowPartial: false };
  const points = 2 + Math.floor(random() * 9);
  const expiredPointsPolicy = random() < 0.5 ? "ORIGINAL_EXPIRY" : "CURRENT_MONTH";
  let until: number | undefined;
  return async (deps) => {
    // The same each time, because the step is sent again to restored tables.
    until ??= (await deps.clock.now()).wall + 30 * 86_400_000;
    return holdPoints(deps, { ...input, points, until, expiredPointsPolicy });
  };
}

/** A capture of a hold, which may be its end, or its release. */
function endOfHoldStep(random: () => number, id: string, { holds }: Made, fresh: Made): Step {
  const [userId, holdId] = holds.shift() ?? [];
  if (userId === undefined || holdId === undefined) return async () => undefined;
  const input = { programId, userId, holdId, reason: "", caller };
  if (random() < 0.3) return (deps) => releaseHold(deps, input);
  const moreFollow = random() < 0.5;
  if (moreFollow) fresh.holds.push([userId, holdId]);
  const points = random() < 0.8 ? 1 : undefined;
  fresh.uses.push([userId, `c${id}`, holdId]);
  return (deps) => capturePoints(deps, { ...input, eventId: `c${id}`, points, moreFollow });
}

function executionStep(random: () => number, { reservations }: Made): Step {
  const [userId, reservationId] = reservations.splice(
    Math.floor(random() * reservations.length),
    1,
  )[0] ?? ["", ""];
  if (!userId) return async () => undefined;
  return (deps) => executeReservation(deps, { programId, reservationId, userId });
}

function reactionStep(random: () => number, id: string, { events }: Made, fresh: Made): Step {
  const target = { type: "post", id: one(random, targets) };
  const userId = one(random, people);
  const kind = random() < 0.8 ? "like" : "wow";
  const turn = random();
  if (turn < 0.45) {
    const regroupAfterMs = random() < 0.3 ? 10_000 : undefined;
    return (deps) => react(deps, { target, kind, userId, displayName: userId, regroupAfterMs });
  }
  if (turn < 0.6) return (deps) => unreact(deps, { target, kind, userId });
  if (turn < 0.78) {
    fresh.events.push([target.id, `e${id}`]);
    const input = { eventId: `e${id}`, target, kind: "comment", caller };
    return (deps) => notify(deps, { ...input, actor: { userId, displayName: userId } });
  }
  if (turn < 0.84) {
    const [about = "", eventId = ""] = events.shift() ?? [];
    if (!about) return async () => undefined;
    return (deps) => retractEvent(deps, { eventId, target: { type: "post", id: about }, caller });
  }
  const back = random() < 0.5 ? 2 : 0;
  const ownerId = one(random, owners);
  return async (deps) => {
    const { version } = await inboxOf(deps, ownerId);
    await markAllNotificationsRead(deps, { ownerId, version: Math.max(version - back, 1) });
  };
}

/** The last step of some workloads. */
export const deletion: Step = (deps) => deleteTarget(deps, { target: { type: "post", id: "six" } });

const bulkRows = Object.fromEntries(users.map((userId, i) => [userId, 100 + i]));

/** A bulk grant, or the reversal of one, from its submission to its end. */
function bulkSteps(id: string, reverses: string | undefined): Step[] {
  const sent: Step = (deps) =>
    reverses === undefined
      ? submit(deps, id, bulkRows)
      : answerTo(deps, { op: "reverse", id, reverses, by: "ann", executeTime: undefined });
  return [
    sent,
    (deps) => validate(deps, id, 1),
    (deps) => start(deps, id, 1),
    (deps) => answerTo(deps, { op: "run", id, revision: 1, run: 1, from: 0, to: 1, limit: 1 }),
    (deps) => answerTo(deps, { op: "finish", id, run: 1 }),
  ];
}

/** What workers do when all calls were sent again. */
export async function finishAll(deps: Deps, reservations: readonly string[]): Promise<void> {
  for (const reservationId of reservations) {
    const found = await deps.reader.get(reservationRef(programId, reservationId));
    if (!found) continue;
    await executeReservation(deps, { programId, reservationId, userId: found.value.userId });
  }
  for (const id of bulkGrants) {
    const { bulkGrant } = await getBulkGrant(deps, { programId, bulkGrantId: id });
    if (bulkGrant.state !== "DONE") throw new Error(`${id} is ${bulkGrant.state}`);
  }
}
