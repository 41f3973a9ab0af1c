/** A client that grants, uses, refunds and revokes points. */

import type { EntryType } from "../../../src/domain/ledger.ts";
import {
  EventOrigin,
  type LedgerEntry,
  LedgerEntry_TypeSchema,
} from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import { ExpiredPointsPolicy } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { plan } from "../../../test/support/models/fault-workload.ts";
import {
  type Answer,
  allowsPartial,
  type KnownEntry,
  type Operation,
  type Outcome,
  refundPointsOf,
} from "../../../test/support/models/workload-operations.ts";
import type { Clients } from "../../../test/support/servers/server.ts";
import type { Calls } from "../calls.ts";
import type { Attempt } from "../record.ts";

/** So few that operations of one account meet. */
export const accounts = 24;

const chunk = 500;
const pauseMs = 300;

/** Sends operations until it shall stop. Every tenth one goes to two servers at once. */
export async function changePoints(calls: Calls, name: string, outcomes: Outcome[]): Promise<void> {
  while (!calls.over.aborted) {
    for (const operation of operationsOf(calls, `${name}-${outcomes.length}`)) {
      if (calls.over.aborted) return;
      const attempts: Attempt<Answer>[] = [];
      outcomes.push({ operation, attempts });
      const tries = calls.random() < 0.5 ? 6 : 1;
      const sendOne = () => calls.send(attempts, (clients) => send(clients, operation), { tries });
      await Promise.all(calls.random() < 0.1 ? [sendOne(), sendOne()] : [sendOne()]);
      await calls.pause(pauseMs);
    }
  }
}

/** The next operations, with ids that begin with a prefix. */
function operationsOf({ random }: Calls, prefix: string): Operation[] {
  const idOf = (id: string) => (id === "nothing" ? id : `${prefix}-${id}`);
  return plan(Math.floor(random() * 2 ** 31), chunk, accounts).map((each) => ({
    ...each,
    id: idOf(each.id),
    reverses: idOf(each.reverses),
  }));
}

async function send({ points }: Clients, operation: Operation): Promise<Answer> {
  const { id: eventId, userId, kind, points: some, reverses } = operation;
  const input = { userId, eventId };
  switch (kind) {
    case "grant":
      return answerOf(await points.grantPoints({ ...input, points: BigInt(some) }));
    case "use": {
      const allowPartial = allowsPartial(operation);
      return answerOf(await points.usePoints({ ...input, points: BigInt(some), allowPartial }));
    }
    case "refund": {
      const refunded = refundPointsOf(operation);
      return answerOf(
        await points.refundPoints({
          ...input,
          useEventId: reverses,
          ...(refunded !== undefined && { points: BigInt(refunded) }),
          expiredPointsPolicy: ExpiredPointsPolicy.ORIGINAL_EXPIRY,
        }),
      );
    }
    case "revoke": {
      const grantEvent = { origin: EventOrigin.CALLER, eventId: reverses };
      return answerOf(await points.revokePoints({ ...input, grantEvent }));
    }
  }
}

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
  event: { origin: "c", eventId: entry.event?.eventId ?? "" },
  points: Number(entry.points),
  availablePoints: Number(entry.availablePoints),
});
