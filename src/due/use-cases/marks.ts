/** Marks records whose runs may be out of line, until they are in line. */
import type { CallLimits } from "../../platform/ports/call.ts";
import type { Ref } from "../../platform/ports/records.ts";
import { changeRecord } from "../../platform/work/change-record.ts";
import type { Deps } from "../ports/deps.ts";
import { nameOf, type PendingStart, type RecordName } from "../ports/due.ts";
import { pendingStartRef } from "../ports/records.ts";

/** The mark of one call: a later mark of the same record has another version. */
interface StartMark {
  readonly ref: Ref<"pendingStart">;
  readonly version: number;
  /** Whether the record was marked before, so that its run may not have been started. */
  readonly wasMarked: boolean;
}

/** Marks a reservation that is about to be written, or a hold whose run may be out of line. */
export function markStart(
  { engine }: Pick<Deps, "engine">,
  name: RecordName,
  call?: CallLimits,
): Promise<StartMark> {
  const ref = pendingStartRef(name);
  return engine.transact({
    key: ref,
    readSet: [],
    expectAbsent: [ref],
    call,
    decide(tx, { wall }) {
      const wasMarked = tx.get(ref) !== undefined;
      // It begins at the time, so that what deletes an earlier mark never meets this one.
      const version = Math.max(wall, tx.recordVersion(ref) + 1);
      tx.put(ref, { ...nameOf(name), time: wall }, version);
      return { ref, version: tx.recordVersion(ref), wasMarked };
    },
  });
}

/** Deletes the mark of a call, unless another call has marked the record since. */
export function removeMark(
  { engine }: Pick<Deps, "engine">,
  { ref, version }: Pick<StartMark, "ref" | "version">,
): Promise<void> {
  return engine.transact({
    key: ref,
    readSet: [ref],
    expectAbsent: [],
    call: undefined,
    decide(tx) {
      if (tx.recordVersion(ref) === version) tx.delete(ref);
    },
  });
}

/** Deletes a mark that was read, unless the record was marked again since. */
export async function endMark(deps: Pick<Deps, "engine">, mark: PendingStart): Promise<void> {
  await changeRecord(deps, { ref: pendingStartRef(mark) }, (found) =>
    found?.time === mark.time ? undefined : found,
  );
}
