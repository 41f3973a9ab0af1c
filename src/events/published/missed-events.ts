/** The event by which a subscription says that it has missed some that are not kept any more. */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { EventSchema } from "../../gen/meguri/events/v1/event_pb.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { Event } from "./event.ts";

/** What a subscription has missed. */
interface Missed {
  readonly subscription: string;
  /** The position in the log before which everything has been delivered. */
  readonly logId: string;
  readonly number: number;
  readonly index: number;
  /** Unset when it is not known. */
  readonly startTime: Instant | undefined;
  /** When the oldest event that is kept was appended. */
  readonly endTime: Instant;
  readonly source: string;
}

/** Its id has the position, so it is the same however often it is made. */
export function missedEvents(missed: Missed): Event {
  const { subscription, logId, number, index, startTime, endTime, source } = missed;
  const subject = `events/gap/subscriptions/${subscription}`;
  const time = timestampFromMs(endTime);
  return create(EventSchema, {
    id: `${subject}/${logId}-${number}-${index}`,
    type: "events.gap_found",
    source,
    subject,
    time,
    data: {
      case: "gapFound",
      value: {
        table: "events",
        ...(startTime !== undefined && { startTime: timestampFromMs(startTime) }),
        endTime: time,
      },
    },
  });
}
