/** The purge of what a deleted target has left. */
import { endsRunOnly } from "../../platform/contract/how-to-end.ts";
import { shortHash } from "../../platform/contract/short-hash.ts";
import type { TargetName } from "../../platform/words/target-name.ts";
import type { TargetInput } from "./payloads.ts";

/** A Temporal that stores its runs in PostgreSQL or MySQL takes no longer ids of workflows. */
const maxWorkflowId = 255;

/** Names the purge by its target; of a target with a long id by the beginning of it, and a hash. */
export function purgeTargetId({ type, id }: TargetName): string {
  const whole = `purge-target/${type}/${id}`;
  if (whole.length <= maxWorkflowId) return whole;
  const hash = `~${shortHash(id)}`;
  return whole.slice(0, maxWorkflowId - hash.length) + hash;
}

export const purgeHowToEnd = endsRunOnly("the reconciler starts a new one while something is left");

/** Starts the purge of a deleted target. */
export interface PurgeTargetInput extends TargetInput {
  /** Operators read it; the purge does not need it. */
  readonly owner_id: string;
  /** Set by continue-as-new: the kinds with reactions left. */
  readonly kinds?: readonly string[];
}
