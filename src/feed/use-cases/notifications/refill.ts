/** Finds out whom a notification shows in the place of a member who leaves. */

import type { Transaction } from "../../../platform/ports/engine.ts";
import type { MemberReader, SeenGroup } from "../../ports/notifications.ts";
import type { Ends } from "../../rules/unread-group.ts";

/** The members at the ends that show the one of a version; undefined if none have to be read. */
export function refillOf(
  tx: Transaction,
  reader: MemberReader,
  seen: SeenGroup,
  version: number,
): Partial<Ends> | undefined {
  const lookup = reader.refill(seen, version);
  return lookup && tx.lookup(lookup);
}
