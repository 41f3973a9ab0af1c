/** Brings the workflow run of a hold in line with its record. */
import { markStart, removeMark } from "../../due/use-cases/marks.ts";
import type { Deps } from "../ports/deps.ts";
import type { Hold } from "../rules/hold.ts";

type SyncDeps = Pick<Deps, "engine" | "programs" | "workflows" | "clock">;

/** Starts the run of a marked hold that may have none, or signals the change to it. */
export async function startMarkedHold(deps: SyncDeps, hold: Hold): Promise<void> {
  const isUnchanged = hold.state === "HELD" && hold.captureCount === 0;
  if (isUnchanged) return startHoldRun(deps, hold);
  const { timeZone } = await deps.programs.get(hold.programId);
  await deps.workflows.refreshHold(hold, timeZone);
}

/** Starts the run of a hold that has none. */
export async function startHoldRun(deps: SyncDeps, hold: Hold): Promise<void> {
  const { timeZone } = await deps.programs.get(hold.programId);
  const { wall } = await deps.clock.now();
  await deps.workflows.startHold(hold, timeZone, wall);
}

/**
 * Starts the run of a new hold, or signals a change to the run of a hold, in the background. The
 * hold is marked only while Temporal does not answer: before the task when the last call had no
 * answer, because tasks that wait for Temporal may be dropped or end with their process, and
 * otherwise when the task has failed.
 */
export async function syncInBackground(
  deps: SyncDeps & Pick<Deps, "background">,
  hold: Hold,
): Promise<void> {
  const isAway = deps.workflows.isAway();
  // Without this mark the task sets one, so it must not fail the call.
  let mark = isAway ? await markStart(deps, hold).catch(() => undefined) : undefined;
  deps.background(async () => {
    try {
      await startMarkedHold(deps, hold);
    } catch (error) {
      mark ??= await markStart(deps, hold);
      throw error;
    }
    if (mark) await removeMark(deps, mark);
  });
}
