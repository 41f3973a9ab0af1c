/** How clients send operations on points and holds, and what they learn of the ledger. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  EventOrigin,
  type LedgerEntry,
  LedgerEntry_TypeSchema,
} from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import { ExpiredPointsPolicy } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { formatMonth, type Month, parseMonth } from "../../../src/platform/words/month.ts";
import type { EntryType, EventName, Origin } from "../../../src/points/rules/ledger.ts";
import {
  type Answer,
  allowsPartial,
  capturePointsOf,
  doMoreFollow,
  expireMonthOf,
  type KnownEntry,
  type Operation,
  type Outcome,
  refundPointsOf,
} from "../../../test/support/models/workload-operations.ts";
import type { Clients } from "../../../test/support/servers/server.ts";
import type { Calls } from "../calls.ts";
import type { Attempt } from "../record.ts";

/** Sends an operation and adds its outcome. Every tenth one goes to two servers at once. */
export async function change(
  calls: Calls,
  outcomes: Outcome[],
  operation: Operation,
  tries?: number,
): Promise<Outcome> {
  const attempts: Attempt<Answer>[] = [];
  const outcome = { operation, attempts };
  outcomes.push(outcome);
  const sendOne = () =>
    calls.send(attempts, (clients) => send(clients, operation), { ...(tries && { tries }) });
  await Promise.all(calls.random() < 0.1 ? [sendOne(), sendOne()] : [sendOne()]);
  return outcome;
}

async function send({ points, holds }: Clients, operation: Operation): Promise<Answer> {
  const { id: eventId, userId, kind, points: some, reverses, holdId } = operation;
  const input = { userId, eventId };
  const month = expireMonthOf(operation);
  const grantEvent = { origin: EventOrigin.CALLER, eventId: reverses };
  const ofHold = { userId, holdId: reverses, reason: eventId };
  switch (kind) {
    case "grant": {
      const expireMonth = month === undefined ? "" : formatMonth(month);
      return answerOf(await points.grantPoints({ ...input, points: BigInt(some), expireMonth }));
    }
    case "use": {
      const allowPartial = allowsPartial(operation);
      return answerOf(await points.usePoints({ ...input, points: BigInt(some), allowPartial }));
    }
    case "refund": {
      const part = inPoints(refundPointsOf(operation));
      const expiredPointsPolicy = ExpiredPointsPolicy.ORIGINAL_EXPIRY;
      const of = { useEventId: reverses, ...(holdId !== undefined && { holdId }) };
      return answerOf(await points.refundPoints({ ...input, ...part, ...of, expiredPointsPolicy }));
    }
    case "revoke":
      return answerOf(await points.revokePoints({ ...input, grantEvent }));
    case "extend": {
      const expireMonth = formatMonth(month as Month);
      return answerOf(await points.extendExpiry({ ...input, grantEvent, expireMonth }));
    }
    case "hold": {
      const until = timestampFromMs(operation.until as number);
      const allowPartial = allowsPartial(operation);
      const held = { ...ofHold, holdId: eventId, points: BigInt(some), until, allowPartial };
      return answerOf(await holds.holdPoints(held));
    }
    case "capture": {
      const part = inPoints(capturePointsOf(operation));
      const moreCapturesFollow = doMoreFollow(operation);
      const captured = { ...ofHold, ...part, eventId, moreCapturesFollow };
      return answerOf(await holds.capturePoints(captured));
    }
    case "release":
      return answerOf(await holds.releaseHold(ofHold));
  }
}

/** Optional points of a request. */
const inPoints = (some: number | undefined) => (some === undefined ? {} : { points: BigInt(some) });

const answerOf = ({
  entry,
  availablePoints,
  replayed,
}: {
  readonly entry?: LedgerEntry | undefined;
  readonly availablePoints: bigint;
  readonly replayed: boolean;
}): Answer => ({
  entry: entryOf(entry as LedgerEntry),
  availablePoints: Number(availablePoints),
  replayed,
});

/** An entry as the ledger has it. */
const entryOf = (entry: LedgerEntry): KnownEntry => ({
  number: Number(entry.number),
  type: LedgerEntry_TypeSchema.value[entry.type]?.localName as EntryType,
  event: eventOf(entry.event),
  points: Number(entry.points),
  changes: entry.monthChanges.map(({ month, points }) => {
    return { month: parseMonth(month), points: Number(points) };
  }),
  availablePoints: Number(entry.availablePoints),
  reason: entry.reason,
});

const origins: Readonly<Partial<Record<EventOrigin, Origin>>> = {
  [EventOrigin.CALLER]: "c",
  [EventOrigin.HOLD]: "h",
};

const eventOf = (event: LedgerEntry["event"]): EventName => ({
  origin: origins[event?.origin ?? EventOrigin.CALLER] as Origin,
  eventId: event?.eventId ?? "",
});
