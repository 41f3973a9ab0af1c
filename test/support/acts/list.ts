/** Lists the acts of a program through the use case. */
import type { Act } from "../../../src/acts/rules/act.ts";
import { listActs } from "../../../src/acts/use-cases/acts.ts";
import type { Deps } from "../../../src/hub/deps.ts";

/** The acts of the last hour, the newest first. */
export async function recentActs(
  deps: Pick<Deps, "reader" | "clock">,
  programId: string,
): Promise<readonly Act[]> {
  const window = { start: Date.now() - 3_600_000, end: undefined };
  return (await listActs(deps, { programId, window }, { size: 100, cursor: undefined })).items;
}
