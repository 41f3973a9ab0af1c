/** Whose a target is, for what a token may do to the targets of its user. */
import type { TargetName } from "../words/target-name.ts";

/** The owners of targets, which never change. */
export interface TargetOwners {
  /** Returns the owner id. Throws TARGET_NOT_FOUND. */
  of(target: TargetName): Promise<string>;
}
