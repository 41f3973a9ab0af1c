/** The dependencies of the feed: the ports that the composition root fills. */
import type * as holds from "../../holds/ports/deps.ts";
import type { TargetOwners } from "../../platform/ports/target-owners.ts";
import type { TargetName } from "../../platform/words/target-name.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import type { EventReader } from "./events.ts";
import type { NotificationReader } from "./notifications.ts";
import type { Purger, ReactionReader } from "./reactions.ts";
import type { UnreadCountStreams } from "./unread-counts.ts";

export interface Reader extends holds.Reader, ReactionReader, NotificationReader, EventReader {}

export interface Workflows extends holds.Workflows {
  /** Starts the purge of a deleted target unless one is running. */
  startPurge(target: TargetName, ownerId: string): Promise<void>;
}

export interface Deps extends holds.Deps {
  readonly owners: TargetOwners;
  readonly purger: Purger;
  readonly unreadCounts: UnreadCountStreams;
  /** How long a read group is kept, in ms. */
  readonly historyMs: Milliseconds;
  readonly reader: Reader;
  readonly workflows: Workflows;
}
