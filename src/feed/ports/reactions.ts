/** Reads of reactions, the owner of a target, and the purge of a deleted target. */

import type { Page, PageRequest } from "../../platform/ports/pages.ts";
import type { TargetName } from "../../platform/words/target-name.ts";
import type { EventsName } from "../rules/event.ts";
import type { ReactionKind, StoredKind } from "../rules/kinds.ts";
import type { PendingPurge, Reaction } from "../rules/target.ts";

/** The reactions to list: all, or the notified ones of a range of versions, both included. */
interface ReactionsQuery {
  readonly target: TargetName;
  readonly kind: ReactionKind;
  readonly notified?: { readonly from: number; readonly to: number };
}

export interface ReactionReader {
  /** Lists the reactions of one kind to a target, newest first. */
  reactions(query: ReactionsQuery, page: PageRequest): Promise<Page<Reaction>>;
  /** Lists the reactions of one person, newest first. Lags behind by moments. */
  reactionsOfUser(userId: string, page: PageRequest): Promise<Page<Reaction>>;
  /** The cursor of the page of `reactionsOfUser` that begins after a reaction. */
  cursorOfUserAfter(reaction: Reaction): string;
  /** Lists the deleted targets whose purges have not ended, by type and id. */
  pendingPurges(page: PageRequest): Promise<Page<PendingPurge>>;
}

/** Deletes what a deleted target has left page by page, without the engine. */
export interface Purger {
  /** Deletes up to 1,000 reactions of one kind. Returns whether there may be more. */
  reactions(target: TargetName, kind: StoredKind): Promise<boolean>;
  /** Deletes up to 1,000 events of one name and their actors. Returns whether there may be more. */
  events(name: EventsName): Promise<boolean>;
}
