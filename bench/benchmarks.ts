/** The list of all benchmarks. */
import type { Benchmark } from "./benchmark.ts";
import { asOf } from "./cases/as-of.ts";
import { authOverhead } from "./cases/auth-overhead.ts";
import { bulkHistory } from "./cases/bulk-history.ts";
import { bulkMemory, workbookMemory } from "./cases/bulk-memory.ts";
import { bulkScale } from "./cases/bulk-scale.ts";
import { bulkThroughput } from "./cases/bulk-throughput.ts";
import { bulkUnits } from "./cases/bulk-units.ts";
import { grantAffinity } from "./cases/client-affinity.ts";
import { clientOverhead } from "./cases/client-overhead.ts";
import { serverStart } from "./cases/cold-start.ts";
import { eventsLag, eventsUnits } from "./cases/events.ts";
import { expiryReads } from "./cases/expiry-reads.ts";
import { forecastGrowth } from "./cases/forecast-growth.ts";
import { grantConflicts } from "./cases/grant-conflicts.ts";
import { grantHot, grantHotLocked } from "./cases/grant-hot.ts";
import { grantOverhead } from "./cases/grant-overhead.ts";
import { growth } from "./cases/growth.ts";
import { grpcJs } from "./cases/grpc-js.ts";
import { holdMemory } from "./cases/hold-memory.ts";
import { holdUnits } from "./cases/hold-units.ts";
import { hostile } from "./cases/hostile.ts";
import { hostilePause } from "./cases/hostile-pause.ts";
import { latestActors } from "./cases/latest-actors.ts";
import { likeConflicts } from "./cases/like-conflicts.ts";
import { likeGrowth } from "./cases/like-growth.ts";
import { likeCosts } from "./cases/like-units.ts";
import { markReadContended } from "./cases/mark-read-contended.ts";
import { monthEndCost } from "./cases/month-end-cost.ts";
import { monthEndNeighbour } from "./cases/month-end-neighbour.ts";
import { peerReservation } from "./cases/peer-reservation.ts";
import { reconcilePrograms } from "./cases/reconcile-programs.ts";
import { reportRate } from "./cases/report-rate.ts";
import { reservationAsleep } from "./cases/reservation-asleep.ts";
import { reservationBurst } from "./cases/reservation-burst.ts";
import { reservationLateness } from "./cases/reservation-lateness.ts";
import { reservationShards } from "./cases/reservation-shards.ts";
import { reservationStarved } from "./cases/reservation-starved.ts";
import { reservationUnits } from "./cases/reservation-units.ts";
import { sheetCheck } from "./cases/sheet-check.ts";
import { subscriptionMemory } from "./cases/subscription-memory.ts";
import { throttle } from "./cases/throttle.ts";
import { units } from "./cases/units.ts";
import { useProcesses } from "./cases/use-processes.ts";
import { useRefused } from "./cases/use-refused.ts";
import { watchPush, watchUnits } from "./cases/watch.ts";
import { watchMemory } from "./cases/watch-memory.ts";
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
  hostile,
  hostilePause,
  growth,
  forecastGrowth,
  asOf,
  reservationLateness,
  reservationBurst,
  reservationStarved,
  reservationUnits,
  reservationShards,
  holdUnits,
  reservationAsleep,
  holdMemory,
  reconcilePrograms,
  bulkThroughput,
  bulkUnits,
  bulkHistory,
  bulkScale,
  bulkMemory,
  workbookMemory,
  sheetCheck,
  expiryReads,
  monthEndCost,
  monthEndNeighbour,
  reportRate,
  likeConflicts,
  likeGrowth,
  likeCosts,
  latestActors,
  markReadContended,
  watchPush,
  watchUnits,
  watchMemory,
  watchReturn,
  eventsLag,
  eventsUnits,
  subscriptionMemory,
  serverStart,
  grpcJs,
  clientOverhead,
  authOverhead,
  peerReservation,
];
