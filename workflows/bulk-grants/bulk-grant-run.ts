/** The requests to a bulk grant's run: signal, updates, cancellation. */
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
import {
  type BulkGrantStatus,
  type BulkGrantView,
  bulkProgressQuery,
  bulkRefreshSignal,
} from "../../src/bulk-grants/contract/bulk-grants.ts";
import type { BulkChangeInput, BulkGrantInput } from "../../src/bulk-grants/contract/payloads.ts";
import type { Milliseconds } from "../../src/platform/words/units.ts";
import { orNothing, unwrapRefusal } from "../failures.ts";
import { bulkGrantTiming, changeTiming } from "../timing.ts";
import { createBulkView } from "./bulk-grant-view.ts";

const refresh = defineSignal(bulkRefreshSignal);
const progress = defineQuery<BulkGrantView | undefined>(bulkProgressQuery);

const forUpdates = proxyActivities<Activities>(changeTiming.update);
const untilAnswered = proxyActivities<Activities>(bulkGrantTiming.readRecord);

/** A run as its callers and operators see it. */
export interface BulkRun {
  readonly key: BulkGrantInput;
  isRefreshRequested(): boolean;
  isCancelRequested(): boolean;
  /** Waits for a requested refresh; returns false when there was none in this time. */
  awaitRefresh(ms: Milliseconds): Promise<boolean>;
  /** Reads what follows from the record, after a requested cancellation has changed it. */
  read(): Promise<BulkGrantView>;
  /** Shows what the run does, in the Web UI and as the answer of the query `progress`. */
  show(view: BulkGrantView): void;
  /**
   * Works on rows. A refresh that is requested meanwhile changes nothing of the work, which sees
   * the record itself, but is shown at once.
   */
  whileRowsRun<T>(work: () => Promise<T>): Promise<T>;
}

/** Sets the handlers of a run. To be called in the run's outermost scope. */
export function createBulkRun(key: BulkGrantInput): BulkRun {
  let isRefreshRequested = false;
  let cancelling: Promise<unknown> | undefined;
  let shown: BulkGrantView | undefined;
  let rowsRun = false;
  let isChangeUnread = false;
  let change: BulkGrantView | undefined;
  let reading: Promise<void> | undefined;
  const showView = createBulkView();
  const readView = () => untilAnswered.advanceBulkGrant(key);
  const show = (view: BulkGrantView) => {
    shown = change ? { ...view, ...changedPart(change) } : view;
    showView(shown, rowsRun);
  };
  /** Shows what has changed while rows run, and what has changed while it was read. */
  const showChange = async () => {
    while (isChangeUnread && rowsRun) {
      isChangeUnread = false;
      await cancelling;
      change = await orNothing(readView());
      if (shown) show(shown);
    }
    reading = undefined;
  };
  const requestRefresh = () => {
    isRefreshRequested = true;
    isChangeUnread = true;
    if (rowsRun) reading ??= CancellationScope.nonCancellable(showChange);
  };
  CancellationScope.current().cancelRequested.catch(() => {
    // At once: rows may be under way, and their activities see it in the record.
    cancelling = CancellationScope.nonCancellable(() => cancelBulkGrant(key));
    requestRefresh();
  });
  setHandler(progress, () => shown, {
    description: "The state, the counts and what the bulk grant waits for.",
  });
  setHandler(refresh, requestRefresh, { description: "Reads the bulk grant's record again." });
  setUpdates(key, requestRefresh);

  return {
    key,
    isRefreshRequested: () => isRefreshRequested,
    isCancelRequested: () => cancelling !== undefined,
    awaitRefresh: (ms) =>
      condition(() => isRefreshRequested, Math.max(ms, bulkGrantTiming.minWaitMs)),
    async read() {
      isRefreshRequested = false;
      await cancelling;
      return unwrapRefusal(readView());
    },
    show,
    async whileRowsRun(work) {
      rowsRun = true;
      isChangeUnread = false;
      try {
        return await work();
      } finally {
        rowsRun = false;
        await reading;
        change = undefined;
      }
    },
  };
}

/** The fields of a view that follow from the record alone: the step, the state and the details. */
const changedPart = ({ step, state, details }: BulkGrantView) => ({ step, state, details });

/** Cancels the bulk grant, unless it has ended already. */
const cancelBulkGrant = (key: BulkGrantInput) =>
  orNothing(untilAnswered.cancelBulkGrant(key, cancellation));

const cancellation: BulkChangeInput = {
  subject: "temporal",
  reason: "cancellation requested in Temporal",
};

type ChangeActivity = (key: BulkGrantInput, change: BulkChangeInput) => Promise<BulkGrantStatus>;

/**
 * The updates change the record, as the RPCs do, and then request a refresh. Their activities check
 * the arguments.
 */
function setUpdates(key: BulkGrantInput, requestRefresh: () => void): void {
  // A run whose cancellation is requested still answers.
  const answer = (change: () => Promise<BulkGrantStatus>) =>
    CancellationScope.nonCancellable(async () => {
      const status = await unwrapRefusal(change());
      requestRefresh();
      return status;
    });
  const set = (name: string, description: string, change: ChangeActivity) =>
    setHandler(
      defineUpdate<BulkGrantStatus, [BulkChangeInput]>(name),
      (input) => answer(() => change(key, input)),
      { description: `${description}: {subject, reason?}.` },
    );
  set("reject", "Rejects what awaits approval", forUpdates.rejectBulkGrant);
  set("cancel", "Cancels it; what runs stops within two seconds", forUpdates.cancelBulkGrant);
  set("pause", "Pauses it after the rows under way", forUpdates.pauseBulkGrant);
  set("resume", "Ends a pause", forUpdates.resumeBulkGrant);
  set("retry", "Runs the failed rows again", forUpdates.retryBulkGrant);
}
