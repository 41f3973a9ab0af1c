/**
 * Shortens, for tests, how long workflows and activities wait. It changes the values of
 * `workflows/timing.ts` before workflows and activities read them, so nothing else has to know.
 */
import * as timing from "../../workflows/timing.ts";

const retry = { initialInterval: "200 milliseconds", maximumInterval: "2 seconds" };

Object.assign(timing.sweepTiming.month.retry, retry);
Object.assign(timing.pickUpTiming.files.retry, retry);
Object.assign(timing.pickUpTiming.move.retry, retry);
Object.assign(timing.reservationTiming.grantAgain.retry, retry);
Object.assign(timing.changeTiming.cancellation.retry, retry);
Object.assign(timing.jobTiming, { lateEntriesMs: 500 });
Object.assign(timing.steps, { scanLockedMs: 300 });
Object.assign(timing.bulkGrantTiming, { lateRowsMs: 500 });
Object.assign(timing.bulkGrantTiming.readRecord.retry, retry);
Object.assign(timing.bulkGrantTiming.report.retry, retry);
Object.assign(timing.reconcilerTiming, { intervalMs: 3_000 });
Object.assign(timing.reconcilerTiming.syncRuns.retry, { initialInterval: "200 milliseconds" });
Object.assign(timing.grantTiming, { firstMs: 2_000 });
Object.assign(timing.pollTiming, { firstMs: 200, mostMs: 2_000 });
