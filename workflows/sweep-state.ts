/** The search attribute by which operators find the sweeps of schedules that have failed. */
import { defineSearchAttributeKey } from "@temporalio/common";
import { ContinueAsNew, isCancellation, upsertSearchAttributes } from "@temporalio/workflow";
import { searchAttributes } from "../src/platform/contract/search-attributes.ts";

const stateKey = defineSearchAttributeKey(searchAttributes.state, "KEYWORD");

/** Does the work of a run, and sets its state at the end. A run that goes on stays RUNNING. */
export async function withState<T>(work: () => Promise<T>): Promise<T> {
  try {
    const result = await work();
    upsertSearchAttributes([{ key: stateKey, value: "DONE" }]);
    return result;
  } catch (error) {
    if (!(error instanceof ContinueAsNew || isCancellation(error))) {
      upsertSearchAttributes([{ key: stateKey, value: "FAILED" }]);
    }
    throw error;
  }
}
