/** The use case that lists the targets that an owner has muted. */

import type { Page, PageRequest } from "../../../platform/ports/pages.ts";
import type { Deps } from "../../ports/deps.ts";
import { targetRef } from "../../ports/records.ts";
import type { Target } from "../../rules/target.ts";

/** Lists the muted targets of an owner, by type and id. Refusal: INVALID_REQUEST (a bad cursor). */
export async function listMutedTargets(
  { reader }: Pick<Deps, "reader">,
  ownerId: string,
  page: PageRequest,
): Promise<Page<Target>> {
  const found = await reader.mutedTargets(ownerId, page);
  const targets = await reader.many(found.items.map(({ target }) => targetRef(target)));
  // One may have been deleted, with its record of the mute, since the page was read.
  const items = targets.flatMap((target) =>
    target && target.deleteTime === undefined ? [target] : [],
  );
  return { ...found, items };
}
