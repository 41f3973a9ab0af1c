/** The events that say what the other events cannot: lost changes, and such as cannot be read. */
import type { ChangeEvent, LostChanges } from "./change-event.ts";
import { path } from "./event-ids.ts";

const gapSubject = ({ table, startTime }: LostChanges) => path("events", "gap", table, startTime);

/** Says that changes of a table were lost. What the table still says of them follows. */
export function gapFound(gap: LostChanges, time: ChangeEvent["time"]): ChangeEvent {
  const subject = gapSubject(gap);
  const data = { kind: "gapFound", gap } as const;
  return { id: `${subject}/found`, type: "events.gap_found", subject, time, data };
}

/** Says that everything has been sent that the table says of a gap. */
export function gapClosed(
  gap: LostChanges,
  eventCount: number,
  time: ChangeEvent["time"],
): ChangeEvent {
  const subject = gapSubject(gap);
  const data = { kind: "gapClosed", gap, eventCount } as const;
  return { id: `${subject}/closed`, type: "events.gap_closed", subject, time, data };
}

export function changeUnreadable(
  table: string,
  itemKey: string,
  time: ChangeEvent["time"],
): ChangeEvent {
  const subject = path("events", "unreadable", table, itemKey);
  const data = { kind: "unreadable", table, itemKey } as const;
  return { id: `${subject}/${time}`, type: "events.change_unreadable", subject, time, data };
}
