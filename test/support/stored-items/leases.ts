/** A change that stores a lease, as the servers make it. */
import { leaseRef } from "../../../src/platform/ports/records.ts";
import { changeRecord } from "../../../src/platform/work/change-record.ts";
import type { Recorder } from "./recorder.ts";

export async function storeLease({ deps, step }: Recorder): Promise<void> {
  const lease = { ref: leaseRef("schedules") };
  const value = { holder: "server-1", heartbeat: 1 };
  await step("take a lease", () => changeRecord(deps, lease, () => value));
}
