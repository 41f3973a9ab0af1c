/** Starts the workflow run of a hold. */
import type { Hold } from "../../domain/hold.ts";
import type { Deps } from "../ports/deps.ts";

/** Starts the run of a hold that has none. */
export async function startHoldRun(
  { programs, workflows }: Pick<Deps, "programs" | "workflows">,
  hold: Hold,
): Promise<void> {
  const { timeZone } = await programs.get(hold.programId);
  await workflows.startHold(hold, timeZone);
}
