/** The id by which a workflow tells what an activity has answered from what an operator has. */

/** What a workflow asks an activity with: the activity repeats it in its answer. */
export interface Asking {
  /** The run id of the run whose history this run continues: another one after a reset. */
  readonly original_run_id: string;
}

/**
 * An answer of an activity, with the id of the run that asks. Operators can complete an activity by
 * hand, and such an answer is not that of the store.
 */
export type Answer<T> = T & Asking;
