/** Reads of events, of the next event of an actor, and of the owners who were notified. */

import type { Page, PageRequest } from "../../platform/ports/pages.ts";
import type { TargetName } from "../../platform/words/target-name.ts";
import type { Event, EventsName } from "../rules/event.ts";

export interface EventReader {
  /** Lists the events with versions from `from` to `to`, both included, newest first. */
  events(
    name: EventsName,
    versions: { readonly from: number; readonly to: number },
    page: PageRequest,
  ): Promise<Page<Event>>;
  /** The first event of an actor after a version. */
  nextEvent(name: EventsName, userId: string, version: number): Promise<Event | undefined>;
  /** Lists the owners who were notified of events about a target, of one owner if it is given. */
  eventOwners(target: TargetName, page: PageRequest, ownerId?: string): Promise<Page<EventsName>>;
}
