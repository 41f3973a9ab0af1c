/** Tests one attempt to grant a reservation: what sets it FAILED, and what leaves it PENDING. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Deps } from "../../../src/hub/deps.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { type Reason, reasons, reasonTable } from "../../../src/platform/words/reasons.ts";
import { programRef } from "../../../src/points/ports/records.ts";
import { freezeAccount, grantPoints } from "../../../src/points/use-cases/commands.ts";
import { verifyAccount } from "../../../src/points/use-cases/verify.ts";
import { executeReservation } from "../../../src/reservations/use-cases/execute.ts";
import { pauseProgramReservations } from "../../../src/reservations/use-cases/pause.ts";
import { createReservationFixture, programId } from "../../support/fixtures/memory-reservations.ts";

const id = "r";
const attempt = { programId, reservationId: id, userId: id };
const request = {
  programId,
  userId: id,
  reason: "",
  caller: asService("tests"),
  deadline: undefined,
};

const retryable = reasons.filter((reason) => reasonTable[reason].retryable);

/** An unknown record cannot become FAILED, and a request for another user is not the record's. */
const unknownRecord: readonly Reason[] = ["RESERVATION_NOT_FOUND", "INVALID_REQUEST"];
const refusals = reasons.filter(
  (reason) => !reasonTable[reason].retryable && !unknownRecord.includes(reason),
);

/** The same dependencies, whose transaction with this number fails. Others are committed. */
function failingAt(deps: Deps, failing: number, error: Error): Deps {
  let calls = 0;
  const transact: Deps["engine"]["transact"] = (transaction) => {
    calls += 1;
    return calls === failing ? Promise.reject(error) : deps.engine.transact(transaction);
  };
  return { ...deps, engine: { transact } };
}

/** A due reservation. */
async function dueReservation() {
  const fixture = createReservationFixture();
  await fixture.reserve(id);
  return fixture;
}

async function expectGrantedOnce({ deps, recordOf }: Awaited<ReturnType<typeof dueReservation>>) {
  expect(await executeReservation(deps, attempt)).toMatchObject({
    outcome: "DONE",
    availablePoints: 10,
  });
  expect(await recordOf(id)).toMatchObject({ state: "DONE", grant: { entryNumber: 1 } });
  expect(await verifyAccount(deps, request, false)).toMatchObject({
    differences: [],
    entryCount: 1,
  });
}

describe("a retryable error", () => {
  const errors = retryable.map((reason) => new DomainError(reason, reason));
  const ofPrograms = errors.filter(({ reason }) =>
    ["STORE_UNAVAILABLE", "PROGRAM_STALE"].includes(reason),
  );
  const unexpected = new TypeError("unexpected");
  test.each([
    ...[...errors, unexpected].map((error) => ["engine", error] as const),
    ...ofPrograms.map((error) => ["program", error] as const),
  ])("of the %s changes nothing, and a later attempt grants: %s", async (place, error) => {
    const fixture = await dueReservation();
    const before = fixture.store.dump();
    const programs = { ...fixture.deps.programs, read: () => Promise.reject(error) };
    const deps =
      place === "engine" ? failingAt(fixture.deps, 1, error) : { ...fixture.deps, programs };
    await expect(executeReservation(deps, attempt)).rejects.toBe(error);
    expect(fixture.store.dump()).toEqual(before);
    await expectGrantedOnce(fixture);
  });

  test.each(retryable)(
    "%s after a refusal leaves the record to the next attempt",
    async (reason) => {
      const fixture = await dueReservation();
      await freezeAccount(fixture.deps, { ...request, eventId: "freeze" });
      const before = fixture.store.dump();
      const deps = failingAt(fixture.deps, 2, new DomainError(reason, reason));
      await expect(executeReservation(deps, attempt)).rejects.toMatchObject({ reason });
      expect(fixture.store.dump()).toEqual(before);
      expect(await executeReservation(fixture.deps, attempt)).toMatchObject({ outcome: "FAILED" });
    },
  );
});

describe("a refusal", () => {
  test.each(refusals)("%s sets the record FAILED, and it stays so", async (reason) => {
    const fixture = await dueReservation();
    const deps = failingAt(fixture.deps, 1, new DomainError(reason, "never"));
    const failure = { reason, message: "never" };
    const failed = { outcome: "FAILED", reservation: { state: "FAILED", failure } };
    expect(await executeReservation(deps, attempt)).toMatchObject({ ...failed, isNew: true });
    const again = await executeReservation(fixture.deps, attempt);
    expect(again).toMatchObject(failed);
    expect(again).not.toHaveProperty("isNew");
    expect(await fixture.recordOf(id)).toMatchObject({ state: "FAILED", failure });
    expect(await fixture.entryCount(id)).toBe(0);
  });

  test.each(unknownRecord)("%s is thrown and changes nothing", async (reason) => {
    const fixture = await dueReservation();
    const before = fixture.store.dump();
    const other = {
      RESERVATION_NOT_FOUND: { ...attempt, reservationId: "unknown" },
      INVALID_REQUEST: { ...attempt, userId: "somebody-else" },
    }[reason as "INVALID_REQUEST"];
    await expect(executeReservation(fixture.deps, other)).rejects.toMatchObject({ reason });
    expect(fixture.store.dump()).toEqual(before);
  });

  test("comes from the account, its ledger or the program", async () => {
    const frozen = await dueReservation();
    await freezeAccount(frozen.deps, { ...request, eventId: "freeze" });
    const full = await dueReservation();
    await grantPoints(full.deps, { ...request, eventId: "most", points: 10 ** 15 });
    const reused = await dueReservation();
    await executeReservation(reused.deps, attempt);
    await reused.force(id, (reservation) => ({
      ...reservation,
      state: "PENDING",
      hash: "1:another",
    }));
    const lost = await dueReservation();
    lost.store.force(programRef(programId), undefined);
    const reasonOf = async ({ deps }: typeof frozen) => {
      const { reservation } = await executeReservation(deps, attempt);
      return reservation.failure?.reason;
    };
    expect([await reasonOf(frozen), await reasonOf(full), await reasonOf(reused)]).toEqual([
      "ACCOUNT_FROZEN",
      "LIMIT_EXCEEDED",
      "ID_REUSED",
    ]);
    expect(await reasonOf(lost)).toBe("PROGRAM_NOT_FOUND");
  });
});

describe("a pause", () => {
  const paused = { programId, caller: asService("ops"), reason: "", deadline: undefined };

  beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "Date"] }));
  afterEach(() => void vi.useRealTimers());

  test.each([
    ["a pause", 1_999, "DONE"],
    ["a pause", 2_000, "PAUSED"],
    ["nothing", 2_000, "DONE"],
  ])(
    "%s comes while a grant waits for its account: after %i ms it is %s",
    async (what, ms, end) => {
      const { deps, store, recordOf } = await dueReservation();
      store.arriving = async ({ op, refs }) => {
        if (op !== "commit" || refs.some(({ kind }) => kind === "program")) return undefined;
        store.arriving = undefined;
        if (what === "a pause") await pauseProgramReservations(deps, paused);
        vi.advanceTimersByTime(ms);
        return "throttled";
      };
      expect(await executeReservation(deps, attempt)).toMatchObject({ outcome: end });
      expect((await recordOf(id)).state).toBe(end === "DONE" ? "DONE" : "PENDING");
    },
  );
});
