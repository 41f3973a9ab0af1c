/** Says what came of a submission: a new revision, or a replay of one that may have ended. */
import { type BulkGrant, BulkGrant_State as State } from "@meguri/client/bulk-grants";
import { replacedRevision } from "./bulk-ended.ts";
import { commandFor, stateText } from "./bulk-text.ts";
import { exitCodes } from "./exit-codes.ts";
import type { Session } from "./session.ts";

/** What a submission answers. */
interface Submission {
  readonly bulkGrant?: BulkGrant | undefined;
  readonly replayed: boolean;
  /** The revision that has the submitted content. */
  readonly revision: number;
}

/** The states in which nothing of the content will be granted. */
const endedWithoutGranting: ReadonlySet<State> = new Set([
  State.INVALID,
  State.REJECTED,
  State.CANCELLED,
]);

/**
 * Says what a person does next, and sets the exit code: 1 when the submitted content will not be
 * granted. Returns whether it will be, or is.
 */
export async function reportSubmission(
  session: Session,
  { bulkGrant, replayed, revision }: Submission,
): Promise<boolean> {
  if (bulkGrant === undefined) return true;
  const refuse = async (text: string) => {
    session.exitCode = exitCodes.refused;
    await session.out.note(text);
    return false;
  };
  const option = `make it the next one with: ${replacedRevision(bulkGrant)}`;
  if (revision !== bulkGrant.revision) {
    return refuse(
      `not submitted: this was revision ${revision}, which others have replaced; ${option}`,
    );
  }
  if (replayed && endedWithoutGranting.has(bulkGrant.state)) {
    const state = stateText(bulkGrant);
    return refuse(`not submitted: this is revision ${revision}, which is ${state}; ${option}`);
  }
  if (replayed && bulkGrant.state === State.DONE_WITH_FAILURES) {
    return refuse(
      `not submitted: rows of this revision have failed; run them again with: ` +
        commandFor(bulkGrant, "retry"),
    );
  }
  const done = bulkGrant.state === State.DONE ? ", and all rows are granted" : "";
  await session.out.note(
    replayed
      ? `replayed: the current revision has the same content${done}`
      : `follow it with: ${commandFor(bulkGrant, "watch")}`,
  );
  return true;
}
