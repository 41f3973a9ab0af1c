/** Calls that store every kind of item. */
import { storeActs } from "./acts.ts";
import { storeCampaign, storeEndedBulkGrants, storeRequests } from "./bulk-grants.ts";
import { storeCauses } from "./causes.ts";
import { storeEarlyExpiry } from "./early-expiry.ts";
import { storeHolds } from "./holds.ts";
import { storeJobs } from "./jobs.ts";
import { storeLease } from "./leases.ts";
import { storePoints, storePrograms, storeSnapshot } from "./points.ts";
import { storeEventsAndMutes, storeReactions } from "./reactions.ts";
import type { Recorder } from "./recorder.ts";
import { storeReservations } from "./reservations.ts";

export async function storeAll(recorder: Recorder): Promise<void> {
  await storePrograms(recorder);
  await storePoints(recorder);
  await storeReservations(recorder);
  await storeReactions(recorder);
  await storeEventsAndMutes(recorder);
  await storeCampaign(recorder);
  await storeEndedBulkGrants(recorder);
  await storeLease(recorder);
  await storeCauses(recorder);
  await storeEarlyExpiry(recorder);
  await storeSnapshot(recorder);
  await storeJobs(recorder);
  await storeHolds(recorder);
  await storeActs(recorder);
  await storeRequests(recorder);
}
