/** Makes the published events of changes. One that cannot be read is an event that says so. */
import type { Gap, StoredChange, StreamedTable } from "../ports/changes.ts";
import type { EventDeps } from "../ports/deps.ts";
import { encodedSize } from "../published/encoding.ts";
import type { Event } from "../published/event.ts";
import { toEvent } from "../published/to-event.ts";
import type { ChangeEvent } from "../rules/change-event.ts";
import { eventsOf, type LimitsOf } from "../rules/events-of.ts";
import { changeUnreadable } from "../rules/notices-of-log.ts";
import { readLimits } from "./balance-limits.ts";
import { withoutMoved } from "./without-moved.ts";

/** Events that go into one batch, and their bytes in it. */
export interface MadeEvents {
  readonly events: readonly Event[];
  readonly bytes: number;
}

/** The events of one change. */
interface EventsOfChange extends MadeEvents {
  readonly change: StoredChange;
}

export interface EventMaker {
  /** The events of each change that has any, in the order of the changes. */
  ofChanges(changes: readonly StoredChange[]): Promise<readonly EventsOfChange[]>;
  /** The events that a table has of a gap, each by itself. */
  ofGap(gap: Gap, events: readonly ChangeEvent[]): readonly MadeEvents[];
}

export interface MakeObservers {
  /** Called when a change cannot be read, or an item of a table. */
  onUnreadable(table: StreamedTable, item: string, error?: unknown): void;
}

export function createEventMaker(
  deps: Pick<EventDeps, "programs" | "engine">,
  source: string,
  { onUnreadable }: MakeObservers,
): EventMaker {
  /** Throws for what the contract cannot express, also for what its encoding refuses. */
  function made(events: readonly ChangeEvent[]): MadeEvents {
    const messages = events.map((event) => toEvent(event, source));
    return { events: messages, bytes: messages.reduce((sum, each) => sum + encodedSize(each), 0) };
  }

  /** The event of a change that cannot be read, so that it does not hold up the next ones. */
  function unreadable(change: StoredChange, error: unknown): ChangeEvent {
    const item = nameOf(change);
    onUnreadable(change.table, item, error);
    return changeUnreadable(change.table, item, change.time);
  }

  function happened(change: StoredChange, limits: LimitsOf): readonly ChangeEvent[] {
    if (change.unreadable !== undefined) onUnreadable(change.table, change.unreadable);
    try {
      return eventsOf(change, limits);
    } catch (error) {
      return [unreadable(change, error)];
    }
  }

  function published(change: StoredChange, events: readonly ChangeEvent[]): EventsOfChange {
    try {
      return { change, ...made(events) };
    } catch (error) {
      return { change, ...made([unreadable(change, error)]) };
    }
  }

  return {
    async ofChanges(changes) {
      const limits = await readLimits(
        deps,
        changes.flatMap(({ after }) => after),
      );
      const found = changes.map((change) => ({ change, events: happened(change, limits) }));
      const all = found.flatMap(({ events }) => events);
      const kept = new Set(await withoutMoved(deps, all));
      return found
        .map(({ change, events }) => ({ change, events: events.filter((each) => kept.has(each)) }))
        .filter(({ events }) => events.length > 0)
        .map(({ change, events }) => published(change, events));
    },
    ofGap: ({ table, startTime }, events) =>
      events.map((event) => {
        if (event.data.kind === "unreadable") onUnreadable(table, event.data.itemKey);
        try {
          return made([event]);
        } catch (error) {
          onUnreadable(table, event.id, error);
          return made([changeUnreadable(table, event.id, startTime)]);
        }
      }),
  };
}

/** Names the records of a change. */
const nameOf = ({ before, after }: StoredChange): string =>
  [...new Set([...before, ...after].map(({ kind, id }) => `${kind} ${id}`))].join(" ");
