/** The purge of what a deleted target has left. */

export const purgeTargetId = ({ type, id }: TargetKey): string => `remove-target/${type}/${id}`;

/** Names a deleted target to the activities that purge it. */
export interface TargetKey {
  readonly type: string;
  readonly id: string;
}

/** Starts the purge of a deleted target. */
export interface PurgeTargetInput extends TargetKey {
  readonly owner: string;
  /** Set by continue-as-new: the kinds with reactions left. */
  readonly kinds?: readonly string[];
  /** Set by continue-as-new of runs that scanned the owner's history. */
  readonly cursor?: string;
}

/** Purges reactions of one kind to a deleted target. */
export interface PurgeReactionsInput extends TargetKey {
  readonly kind: string;
}
