/** The list of all benchmarks. */
import type { Benchmark } from "./benchmark.ts";
import { asOf } from "./cases/as-of.ts";
import { authOverhead } from "./cases/auth-overhead.ts";
import { bulkHistory } from "./cases/bulk-history.ts";
import { bulkLease } from "./cases/bulk-lease.ts";
import { bulkMemory } from "./cases/bulk-memory.ts";
import { bulkScale } from "./cases/bulk-scale.ts";
import { bulkThroughput } from "./cases/bulk-throughput.ts";
import { bulkUnits } from "./cases/bulk-units.ts";
import { grantAffinity, likeAffinity } from "./cases/client-affinity.ts";
import { clientOverhead } from "./cases/client-overhead.ts";
import { serverStart, workerStart } from "./cases/cold-start.ts";
import { cpu } from "./cases/cpu.ts";
import { deleteGrowth } from "./cases/delete-growth.ts";
import { eventUnits } from "./cases/event-units.ts";
import { expiryReads } from "./cases/expiry-reads.ts";
import { expiryUnchanged } from "./cases/expiry-unchanged.ts";
import { forecastGrowth } from "./cases/forecast-growth.ts";
import { grantConflicts } from "./cases/grant-conflicts.ts";
import { grantHot, grantHotLocked } from "./cases/grant-hot.ts";
import { grantOverhead } from "./cases/grant-overhead.ts";
import { growth } from "./cases/growth.ts";
import { grpcJs } from "./cases/grpc-js.ts";
import { hardHour } from "./cases/hard-hour.ts";
import { holdMemory } from "./cases/hold-memory.ts";
import { holdUnits } from "./cases/hold-units.ts";
import { hostile } from "./cases/hostile.ts";
import { hostilePause } from "./cases/hostile-pause.ts";
import { latestActors } from "./cases/latest-actors.ts";
import { likeConflicts } from "./cases/like-conflicts.ts";
import { likeGrowth } from "./cases/like-growth.ts";
import { likeHot, likeHotLocked } from "./cases/like-hot.ts";
import { likeCosts } from "./cases/like-units.ts";
import { markAllCommits } from "./cases/mark-all-commits.ts";
import { markReadContended } from "./cases/mark-read-contended.ts";
import { monthEndCost } from "./cases/month-end-cost.ts";
import { monthEndPartitions, monthEndWorkers } from "./cases/month-end-width.ts";
import { peerGrant } from "./cases/peer-grant.ts";
import { peerReservation } from "./cases/peer-reservation.ts";
import { reconcilePrograms, reconcilePrograms200 } from "./cases/reconcile-programs.ts";
import { reconcileStarts } from "./cases/reconcile-starts.ts";
import { reportRate } from "./cases/report-rate.ts";
import { reservationAsleep } from "./cases/reservation-asleep.ts";
import { reservationAsleepMemory } from "./cases/reservation-asleep-memory.ts";
import { reservationBurst } from "./cases/reservation-burst.ts";
import { reservationHistory } from "./cases/reservation-history.ts";
import { reservationLateness } from "./cases/reservation-lateness.ts";
import {
  reservationLatenessTurns,
  reservationUnderCreations,
} from "./cases/reservation-lateness-turns.ts";
import { reservationSlowWorker } from "./cases/reservation-slow-worker.ts";
import { reservationUnderBulk } from "./cases/reservation-under-bulk.ts";
import { reservationUnits } from "./cases/reservation-units.ts";
import { streams } from "./cases/streams.ts";
import { sweepThrottled } from "./cases/sweep-throttled.ts";
import { throttle } from "./cases/throttle.ts";
import { transport } from "./cases/transport.ts";
import { units } from "./cases/units.ts";
import { useProcesses } from "./cases/use-processes.ts";
import { useRefused } from "./cases/use-refused.ts";
import { watchDelay, watchPush, watchQuietUnits, watchUnits } from "./cases/watch.ts";
import { watchReturn } from "./cases/watch-return.ts";

/** All benchmarks, in the order of the table. */
export const benchmarks: readonly Benchmark[] = [
  grantOverhead,
  grantHot,
  grantHotLocked,
  grantConflicts,
  grantAffinity,
  units,
  useProcesses,
  useRefused,
  throttle,
  sweepThrottled,
  hostile,
  hostilePause,
  growth,
  forecastGrowth,
  asOf,
  reservationLateness,
  reservationLatenessTurns,
  reservationUnderCreations,
  reservationBurst,
  reservationSlowWorker,
  reservationHistory,
  reservationUnits,
  holdUnits,
  reservationAsleep,
  holdMemory,
  reservationAsleepMemory,
  reconcileStarts,
  reconcilePrograms,
  reconcilePrograms200,
  bulkThroughput,
  bulkUnits,
  bulkLease,
  bulkHistory,
  bulkScale,
  bulkMemory,
  reservationUnderBulk,
  hardHour,
  expiryReads,
  expiryUnchanged,
  monthEndCost,
  monthEndPartitions,
  monthEndWorkers,
  reportRate,
  likeHot,
  likeHotLocked,
  likeConflicts,
  likeAffinity,
  likeGrowth,
  likeCosts,
  eventUnits,
  latestActors,
  deleteGrowth,
  markReadContended,
  markAllCommits,
  watchDelay,
  watchPush,
  watchUnits,
  watchQuietUnits,
  streams,
  watchReturn,
  serverStart,
  workerStart,
  cpu,
  transport,
  grpcJs,
  clientOverhead,
  authOverhead,
  peerGrant,
  peerReservation,
];
