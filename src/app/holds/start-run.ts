/** Starts and signals the workflow run of a hold. */
import type { Hold } from "../../domain/hold.ts";
import type { Deps } from "../ports/deps.ts";

/** Starts the run of a hold that has none. */
export async function startHoldRun(
  { programs, workflows, clock }: Pick<Deps, "programs" | "workflows" | "clock">,
  hold: Hold,
): Promise<void> {
  const { timeZone } = await programs.get(hold.programId);
  await workflows.startHold(hold, timeZone, (await clock.now()).wall);
}

/** Has the run of a hold read its record again. */
export async function refreshHoldRun(
  { programs, workflows }: Pick<Deps, "programs" | "workflows">,
  hold: Hold,
): Promise<void> {
  const { timeZone } = await programs.get(hold.programId);
  await workflows.refreshHold(hold, timeZone);
}
