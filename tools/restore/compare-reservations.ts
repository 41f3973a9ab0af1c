/** Compares the records of reservations with the event keys of their grants. */

import type { Ref } from "../../src/platform/ports/records.ts";
import { annotationsOf } from "../../src/platform/words/annotations.ts";
import { DomainError } from "../../src/platform/words/errors.ts";
import { quantity } from "../../src/platform/words/quantities.ts";
import type { AccountName } from "../../src/points/ports/points.ts";
import { accountRef, eventRef, programRef } from "../../src/points/ports/records.ts";
import { type EventKey, eventName } from "../../src/points/rules/ledger.ts";
import { reservationRef } from "../../src/reservations/ports/records.ts";
import { complete, type Reservation } from "../../src/reservations/rules/reservation.ts";
import { executeReservation } from "../../src/reservations/use-cases/execute.ts";
import { compareHoldRecords } from "./compare-holds.ts";
import { type CompareDeps, found } from "./findings.ts";
import { requireAgreement } from "./require-agreement.ts";
import { ofKind, scanTable } from "./scan-table.ts";

/**
 * Compares the records of all reservations with the grants, those of all holds, which are in the
 * same table, with the ledgers, and both with the programs.
 */
export function compareReservations(deps: CompareDeps): Promise<void> {
  return scanTable(deps, ["reservation", "hold"], async (records) => {
    await compareHoldRecords(
      deps,
      ofKind(records, "hold").map(({ value }) => value),
    );
    const reservations = ofKind(records, "reservation").map(({ value }) => value);
    const keys = await deps.reader.many(reservations.map(grantKey));
    const programs = await deps.reader.many(
      reservations.map(({ programId }) => programRef(programId)),
    );
    for (const [i, reservation] of reservations.entries()) {
      if (!programs[i]) {
        const { state, points } = reservation;
        const detail = `${state}, ${quantity(points, "point")} for ${reservation.userId}`;
        await found(deps, { kind: "PROGRAM_LOST", name: textOf(reservation), detail });
        continue;
      }
      await compareReservation(deps, reservation, keys[i]);
    }
  });
}

const grantKey = ({ programId, userId, reservationId }: Reservation): Ref<"event"> =>
  eventRef(programId, userId, eventName({ origin: "r", eventId: reservationId }));

const textOf = ({ programId, reservationId }: Reservation): string =>
  `${programId}/${reservationId}`;

async function compareReservation(
  deps: CompareDeps,
  reservation: Reservation,
  key: EventKey | undefined,
): Promise<void> {
  const { state, points, userId } = reservation;
  const name = textOf(reservation);
  const detail = `${quantity(points, "point")} for ${userId}`;
  if (state === "DONE" && !key) {
    const finding = { kind: "RESERVATION_GRANT_LOST", name, detail } as const;
    return found(deps, finding, () => grantAgain(deps, reservation));
  }
  if (state === "DONE" || !key) return;
  const finding = { kind: "RESERVATION_BEHIND", name, detail: `${state}, ${detail}` } as const;
  // A cancelled reservation, or another request of this id, has nothing to do with the grant.
  const isEarlier = state !== "CANCELLED" && key.hash === reservation.hash;
  await found(deps, finding, isEarlier ? () => completeRecord(deps, reservation) : undefined);
}

/**
 * Sets a reservation whose grant is lost back to pending, and executes it. Where that ends in
 * between, a sweep executes it, because its time has come. Throws the refusal that set the
 * record FAILED, and WRONG_STATE when the record waits because its program is paused.
 */
async function grantAgain(deps: CompareDeps, reservation: Reservation): Promise<void> {
  const { programId, reservationId, userId } = reservation;
  await requireAgreement(deps, reservation);
  const [ref, key] = [reservationRef(programId, reservationId), grantKey(reservation)];
  await deps.engine.transact({
    key: accountRef(programId, userId),
    readSet: [ref],
    expectAbsent: [key],
    call: undefined,
    decide(tx) {
      const stored = tx.get(ref);
      if (stored?.state !== "DONE" || tx.get(key)) return;
      const { grant: _, ...pending } = stored;
      tx.put(ref, { ...pending, state: "PENDING" });
    },
  });
  const executed = await executeReservation(deps, { programId, reservationId, userId });
  if (executed.outcome === "DONE") return;
  const { state, failure } = executed.reservation;
  const cause = failure?.message ?? executed.outcome;
  throw new DomainError(failure?.reason ?? "WRONG_STATE", `the record is ${state} now: ${cause}`);
}

/** Sets a granted reservation DONE by the entry of its grant. */
function completeRecord({ engine }: CompareDeps, reservation: Reservation): Promise<void> {
  const { programId, reservationId, userId } = reservation;
  const [ref, key] = [reservationRef(programId, reservationId), grantKey(reservation)];
  return engine.transact({
    key: accountRef(programId, userId),
    readSet: [ref, key],
    expectAbsent: [],
    call: undefined,
    decide(tx) {
      const [stored, granted] = [tx.get(ref), tx.get(key)];
      if (!stored || stored.state === "DONE" || !granted) return;
      tx.put(ref, complete(stored, granted.entry, granted.entry.createTime));
    },
  });
}

/**
 * Reports a grant whose reservation does not exist, and writes its record again as DONE. The fields
 * that only the record had follow from the grant: it was created, due and granted at the same time.
 */
export function recreateReservation(
  deps: CompareDeps,
  { programId, userId }: AccountName,
  { entry, hash }: EventKey,
): Promise<void> {
  const { event, points, caller, createTime, number } = entry;
  const reservationId = event.eventId;
  const ref = reservationRef(programId, reservationId);
  const finding = {
    kind: "RESERVATION_LOST",
    name: `${programId}/${reservationId}`,
    detail: `${quantity(points, "point")} for ${userId}`,
  } as const;
  return found(deps, finding, () =>
    deps.engine.transact({
      key: ref,
      readSet: [],
      expectAbsent: [ref],
      call: undefined,
      decide(tx) {
        if (tx.get(ref)) return;
        tx.put(ref, {
          ...{
            programId,
            reservationId,
            userId,
            points,
            ...annotationsOf(entry),
            creator: caller,
            hash,
          },
          ...{ state: "DONE", createTime, updateTime: createTime, executeTime: createTime },
          grant: { time: createTime, entryNumber: number, dueSince: createTime },
        });
      },
    }),
  );
}
