/** Carries out the cancellation of a run, which an operator requests: its record ends. */
import { CancellationScope } from "@temporalio/workflow";
import type { ChangeInput } from "../src/platform/contract/payloads.ts";
import { refusalOf, unwrapRefusal } from "./failures.ts";

interface Cancellation {
  isRequested(): boolean;
  /** Ends the record, unless it has ended already, after the first request. */
  carryOut(): Promise<void>;
}

/**
 * Waits for a request; to be called in the run's outermost scope. `end` ends the record. It is
 * refused with WRONG_STATE when the record has ended already.
 */
export function createCancellation(
  onRequest: () => void,
  end: (change: ChangeInput) => Promise<unknown>,
): Cancellation {
  let isRequested = false;
  let isCarriedOut = false;
  CancellationScope.current().cancelRequested.catch(() => {
    isRequested = true;
    onRequest();
  });
  return {
    isRequested: () => isRequested,
    async carryOut() {
      if (!isRequested || isCarriedOut) return;
      isCarriedOut = true;
      try {
        await unwrapRefusal(end({ reason: "cancellation requested in Temporal" }));
      } catch (error) {
        if (refusalOf(error)?.type !== "WRONG_STATE") throw error;
      }
    },
  };
}
