/** What use cases do when the store was damaged or restored from a backup. */
import { expect, test } from "vitest";
import { executeReservation } from "../../src/app/execute-reservation.ts";
import { freezeAccount } from "../../src/app/points.ts";
import { accountRef, reservationRef, shardCount } from "../../src/app/ports.ts";
import { createReservation } from "../../src/app/reservations.ts";
import { settleShard } from "../../src/app/settle-accounts.ts";
import type { Account } from "../../src/domain/account.ts";
import type { Reservation } from "../../src/domain/reservation.ts";
import { balance, createWorld, grant, program } from "../store/world.ts";

test("an account behind its ledger does not hold up the sweep of the others", async () => {
  const { deps, store, clock } = createWorld(1);
  const users = Array.from({ length: 2 * shardCount }, (_, i) => `user-${i}`);
  for (const user of users) await grant(deps, "g", 10, { user });
  const behind = accountRef(program, "user-0");
  const account = (await deps.reader.get(behind))?.value as Account;
  store.force(behind, { ...account, last: 0 });

  clock.time = Date.UTC(2026, 4, 15);
  let settled = 0;
  let failed = 0;
  for (let shard = 0; shard < shardCount; shard++) {
    const result = await settleShard(deps, { program, shard }, () => true);
    settled += result.settled;
    failed += result.failed;
  }
  expect({ settled, failed }).toEqual({ settled: users.length - 1, failed: 1 });
});

test("a reservation restored from before its grant is DONE, even on a frozen account", async () => {
  const { deps, store } = createWorld();
  const name = { program, id: "r" };
  const input = { ...name, user: "u", points: 5, reason: "", executeTime: 0, caller: "test" };
  const { row } = await createReservation(deps, input);
  const attempt = { ...name, user: "u", run: "run-1" };
  const granted = await executeReservation(deps, attempt);
  expect(granted.step).toEqual({ step: "DONE", entry: 1 });

  store.force(reservationRef(program, "r"), row as Reservation);
  const frozen = { program, user: "u", eventId: "f", reason: "", caller: "test" };
  await freezeAccount(deps, { ...frozen, deadline: undefined });
  const again = await executeReservation(deps, { ...attempt, run: "run-2" });
  expect(again.step).toEqual({ step: "DONE", entry: 1 });
  expect(again.row.state).toBe("DONE");
  expect(await balance(deps, "u")).toBe(5);
});
