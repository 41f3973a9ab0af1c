/** Tests when the lease ends by which an attempt executes rows. */
import { afterEach, expect, test, vi } from "vitest";
import type { BulkGrant } from "../../../src/bulk-grants/rules/bulk-grant.ts";
import { RunLease } from "../../../src/bulk-grants/use-cases/run-lease.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

/** The clocks of a machine, which a test moves. */
function openMachine() {
  const machine = { wall: 1_000_000, monotonic: 1_000 };
  vi.spyOn(Date, "now").mockImplementation(() => machine.wall);
  vi.spyOn(performance, "now").mockImplementation(() => machine.monotonic);
  return machine;
}

// The monotonic clock stands still while a machine is suspended; somebody may set the wall clock.
test.each([
  ["both clocks", { wall: 1, monotonic: 1 }],
  ["the monotonic clock alone", { wall: 0, monotonic: 1 }],
  ["the wall clock alone", { wall: 1, monotonic: 0 }],
  ["a wall clock that was set back", { wall: -1, monotonic: 0 }],
])("a lease ends two seconds after its read by %s", async (_, { wall, monotonic }) => {
  const machine = openMachine();
  const lease = new RunLease(
    async () => ({}) as BulkGrant,
    () => true,
  );
  expect(lease.isHeld).toBe(false);
  await lease.renew();
  const pass = (ms: number) => {
    machine.wall += wall * ms;
    machine.monotonic += monotonic * ms;
  };
  pass(1_999);
  expect(lease.isHeld).toBe(true);
  pass(1);
  expect(lease.isHeld).toBe(false);
  await lease.renew();
  expect(lease.isHeld).toBe(true);
});
