/** The requests to a run of a reservation: signal, updates, cancellation. */
import {
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  proxyActivities,
  setHandler,
} from "@temporalio/workflow";
import type { Activities } from "../../activities/index.ts";
import type { ChangeInput } from "../../src/platform/contract/payloads.ts";
import { detailsQuery, refreshSignal } from "../../src/platform/contract/record-runs.ts";
import type {
  ChangePointsInput,
  RescheduleInput,
  ReservationInput,
  ReservationKey,
} from "../../src/reservations/contract/payloads.ts";
import {
  type ReservationView,
  reservationHowToEnd,
} from "../../src/reservations/contract/reservations.ts";
import { createCancellation } from "../cancellation.ts";
import { showDetails } from "../details.ts";
import { unwrapRefusal } from "../failures.ts";
import { changeTiming } from "../timing.ts";

const refresh = defineSignal(refreshSignal);
const details = defineQuery<string>(detailsQuery);
const cancel = defineUpdate<ReservationView, [ChangeInput | undefined]>("cancel");
const reschedule = defineUpdate<ReservationView, [RescheduleInput]>("reschedule");
const changePoints = defineUpdate<ReservationView, [ChangePointsInput]>("change_points");
const retry = defineUpdate<ReservationView, [ChangeInput | undefined]>("retry");

const forUpdates = proxyActivities<Activities>(changeTiming.update);
const untilAnswered = proxyActivities<Activities>(changeTiming.cancellation);

/** A run as its callers and operators see it. */
export interface Run {
  /** True from a request on until the next `untilRefresh` or `takeRefresh`. */
  isRefreshRequested(): boolean;
  isCancelRequested(): boolean;
  /** Returns whether a refresh was requested, and forgets the request. */
  takeRefresh(): boolean;
  /** Does work that a requested refresh cancels. Returns undefined when it did. */
  untilRefresh<T>(work: () => Promise<T>): Promise<T | undefined>;
  /** Cancels the reservation if Temporal was asked to cancel the run, as CancelReservation does. */
  cancelIfRequested(): Promise<void>;
  /** Has Temporal asked to cancel the run, unless it was asked already. */
  requestCancellation(): Promise<void>;
  /** Shows what the run does as the answer of the query `details`, and with more in the Web UI. */
  showDetails(text: string, more: readonly string[]): void;
}

/** Sets the handlers of a run. To be called in the run's outermost scope. */
export function createRun(input: ReservationInput): Run {
  const { program_id, reservation_id, reserved_by } = input;
  const key: ReservationKey = { program_id, reservation_id };
  let isRefreshRequested = false;
  let interruptible: CancellationScope | undefined;
  let shown = "";
  const requestRefresh = () => {
    isRefreshRequested = true;
    interruptible?.cancel();
  };
  const cancellation = createCancellation(requestRefresh, (change) =>
    untilAnswered.cancelReservation(key, change),
  );
  setHandler(details, () => shown, { description: "What the reservation waits for or does." });
  setHandler(refresh, requestRefresh, { description: "Reads the reservation's record again." });
  setUpdates(key, requestRefresh);
  return {
    isRefreshRequested: () => isRefreshRequested,
    isCancelRequested: cancellation.isRequested,
    takeRefresh() {
      const requested = isRefreshRequested;
      isRefreshRequested = false;
      return requested;
    },
    async untilRefresh(work) {
      if (isRefreshRequested) return undefined;
      interruptible = new CancellationScope();
      try {
        return await interruptible.run(work);
      } catch (error) {
        if (!interruptible.consideredCancelled) throw error;
        return undefined;
      } finally {
        interruptible = undefined;
      }
    },
    cancelIfRequested: cancellation.carryOut,
    requestCancellation: () =>
      CancellationScope.nonCancellable(async () => {
        if (cancellation.isRequested()) return;
        await untilAnswered.cancelReservationRun(key);
        await condition(cancellation.isRequested);
      }),
    showDetails(text, more) {
      shown = text;
      const isByHand = reserved_by === undefined;
      showDetails(reservationHowToEnd, [text, ...more].join("\n\n"), isByHand);
    },
  };
}

type Change = () => Promise<ReservationView>;

/**
 * The updates change the record, as the RPCs do, and then request a refresh. Their activities check
 * the arguments.
 */
function setUpdates(key: ReservationKey, requestRefresh: () => void): void {
  // A cancelled run still answers: the cancellation of the reservation requests that of the run.
  const answer = (change: Change) =>
    CancellationScope.nonCancellable(() => unwrapRefusal(change()));
  const afterwards = async (change: Change) => {
    const view = await answer(change);
    requestRefresh();
    return view;
  };
  setHandler(cancel, (change) => answer(() => forUpdates.cancelReservation(key, change)), {
    description: "Cancels the reservation, as CancelReservation does: {subject?, reason?}.",
  });
  const move = (change: RescheduleInput) =>
    afterwards(() => forUpdates.rescheduleReservation(key, change));
  setHandler(reschedule, move, {
    description:
      'Moves the reservation: {execute_time: "2026-12-01T00:00:00+09:00", subject?, reason?, ' +
      "allow_past_execute_time?}.",
  });
  const changeTo = (change: ChangePointsInput) =>
    afterwards(() => forUpdates.changeReservationPoints(key, change));
  setHandler(changePoints, changeTo, {
    description: "Lowers or raises the points: {points: 100, subject?, reason?}.",
  });
  setHandler(retry, (change) => afterwards(() => forUpdates.retryReservation(key, change)), {
    description:
      "Sets a FAILED reservation to PENDING, and tries one that is RETRYING at once: " +
      "{subject?, reason?}.",
  });
}
