/** The purge of what a deleted target has left. */
import type { TargetName } from "../../platform/words/target-name.ts";
import type { TargetInput } from "./payloads.ts";

export const purgeTargetId = ({ type, id }: TargetName): string => `purge-target/${type}/${id}`;

/** Starts the purge of a deleted target. */
export interface PurgeTargetInput extends TargetInput {
  /** Operators read it; the purge does not need it. */
  readonly owner_id: string;
  /** Set by continue-as-new: the kinds with reactions left. */
  readonly kinds?: readonly string[];
}
