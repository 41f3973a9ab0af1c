/** Tests use cases on a store that is damaged or was restored from a backup. */
import { expect, onTestFinished, test, vi } from "vitest";
import { asService } from "../../../src/platform/words/caller.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { shardCount } from "../../../src/points/ports/points.ts";
import { programRef } from "../../../src/points/ports/records.ts";
import type { Program } from "../../../src/points/rules/program.ts";
import { freezeAccount } from "../../../src/points/use-cases/commands.ts";
import { expireDueInShard } from "../../../src/points/use-cases/expire-due.ts";
import { reservationRef } from "../../../src/reservations/ports/records.ts";
import { createReservation } from "../../../src/reservations/use-cases/commands.ts";
import { executeReservation } from "../../../src/reservations/use-cases/execute.ts";
import {
  balance,
  createAccountFixture,
  grant,
  programId,
} from "../../support/fixtures/account-fixture.ts";
import { inVirtualTime } from "../../support/models/virtual-time.ts";

// The engine's pauses use the global timers, which the virtual time fakes.
vi.mock("node:timers/promises", () => ({
  setTimeout: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
}));

test("an outage fails the sweep of a shard, so that it is retried", async () => {
  const { deps, store, clock } = createAccountFixture(1);
  const userIds = Array.from({ length: 4 * shardCount }, (_, i) => `user-${i}`);
  for (const userId of userIds) await grant(deps, "g", 10, { userId });
  clock.time = Date.UTC(2026, 4, 15);
  const clockOff = async () =>
    Promise.reject(new DomainError("CLOCK_OFF", "off", { skew_ms: "6000" }));
  const shards = Array.from({ length: shardCount }, (_, shard) => shard);
  const reasons = async () => {
    const ends = shards.map((shard) =>
      expireDueInShard(deps, { programId, shard }, () => true).then(
        ({ expired }) => expired,
        (error: DomainError) => error.reason,
      ),
    );
    return new Set((await Promise.all(ends)).filter((end) => end !== 0));
  };
  store.latencyMs = 1;
  await inVirtualTime(async () => {
    store.arriving = clockOff;
    expect(await reasons()).toEqual(new Set(["CLOCK_OFF"]));
    store.arriving = () => "unavailable";
    expect(await reasons()).toEqual(new Set(["STORE_UNAVAILABLE"]));
    store.arriving = undefined;
    expect(await reasons()).not.toContain("STORE_UNAVAILABLE");
  });
});

test("a worker that stood still expires nothing by the program as it was before", async () => {
  vi.useFakeTimers({ toFake: ["performance", "Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const { deps, store, clock, process } = createAccountFixture(1);
  await grant(deps, "g", 10);
  clock.time = Date.UTC(2026, 4, 15);
  const worker = process();
  const sweep = async () => {
    const results = Array.from({ length: shardCount }, (_, shard) =>
      expireDueInShard(worker, { programId, shard }, () => true),
    );
    return (await Promise.all(results)).flatMap(({ failures }) => failures);
  };
  const program = (await deps.reader.get(programRef(programId)))?.value as Program;
  store.answering = ({ op }) => {
    if (op !== "read") return;
    store.answering = undefined;
    const lengthened = { lifetimeMonths: 36, effectiveTime: Date.UTC(2026, 0, 20) };
    store.force(programRef(programId), {
      ...program,
      lifetimes: [...program.lifetimes, lengthened],
    });
    vi.advanceTimersByTime(120_000);
  };
  expect(await sweep()).toEqual([{ userId: "u", reason: "PROGRAM_STALE" }]);
  expect(await sweep()).toEqual([]);
  expect(await balance(deps, "u")).toBe(10);
});

test("a reservation restored from before its grant is DONE, even on a frozen account", async () => {
  const { deps, store } = createAccountFixture();
  const name = { programId, reservationId: "r" };
  const input = {
    ...name,
    userId: "u",
    points: 5,
    reason: "",
    executeTime: 0,
    allowPastExecuteTime: true,
    caller: asService("test"),
  };
  const { reservation } = await createReservation(deps, input);
  const attempt = { ...name, userId: "u" };
  const granted = await executeReservation(deps, attempt);
  expect(granted).toMatchObject({ outcome: "DONE", reservation: { grant: { entryNumber: 1 } } });

  store.force(reservationRef(programId, "r"), reservation);
  const frozen = { programId, userId: "u", eventId: "f", reason: "", caller: asService("test") };
  await freezeAccount(deps, { ...frozen, deadline: undefined });
  const again = await executeReservation(deps, attempt);
  expect(again).toMatchObject({
    outcome: "DONE",
    availablePoints: 5,
    reservation: { state: "DONE" },
  });
  expect(await balance(deps, "u")).toBe(5);
});
