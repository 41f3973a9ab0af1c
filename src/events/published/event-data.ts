/** Maps the data of events to their messages. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { withProblems } from "../../bulk-grants/rpc/messages.ts";
import { type BulkGrant, neededApprovals } from "../../bulk-grants/rules/bulk-grant.ts";
import { encodeId } from "../../feed/rpc/notifications/ids.ts";
import { fromTarget } from "../../feed/rpc/reactions/service.ts";
import { isNoTarget } from "../../feed/rules/event.ts";
import { isEventKind, kindName } from "../../feed/rules/kinds.ts";
import type { Target } from "../../feed/rules/target.ts";
import { type Member, versionOf } from "../../feed/rules/unread-group.ts";
import {
  BulkGrantChangedSchema,
  BalanceCrossed_Direction as Direction,
  type EventSchema,
} from "../../gen/meguri/events/v1/event_pb.ts";
import { Notification_Type as NotificationType } from "../../gen/meguri/notifications/v1/notification_pb.ts";
import { Program_BalanceLimitsSchema } from "../../gen/meguri/programs/v1/program_pb.ts";
import { fromHold } from "../../holds/rpc/service.ts";
import { fromRecord } from "../../platform/messages/records.ts";
import { fromInstant, fromOptionalInstant } from "../../platform/messages/scalars.ts";
import { fromEntry } from "../../points/rpc/ledger-entries.ts";
import { newestLifetime, type Program } from "../../points/rules/program.ts";
import { fromReservation } from "../../reservations/rpc/messages.ts";
import type { EventData, LostChanges, NotificationData } from "../rules/change-event.ts";

type Data = NonNullable<MessageInitShape<typeof EventSchema>["data"]>;

export function fromData(data: EventData): Data {
  switch (data.kind) {
    case "entry": {
      const { programId, userId, entry } = data;
      return { case: "entryRecorded", value: { programId, userId, entry: fromEntry(entry) } };
    }
    case "crossing":
      return { case: "balanceCrossed", value: fromCrossing(data) };
    case "reservation": {
      const { value: reservation } = data;
      const message = fromReservation({ reservation, state: reservation.state });
      return { case: "reservationChanged", value: { ...version(data), reservation: message } };
    }
    case "hold":
      return { case: "holdChanged", value: { ...version(data), hold: fromHold(data.value) } };
    case "bulkGrant":
      return {
        case: "bulkGrantChanged",
        value: { ...version(data), ...fromBulkGrant(data.value) },
      };
    case "target":
      return { case: "targetChanged", value: { ...version(data), ...fromTargetState(data.value) } };
    case "program":
      return { case: "programChanged", value: { ...version(data), ...fromProgram(data.value) } };
    case "notification":
      return { case: "notificationChanged", value: fromNotification(data) };
    case "gapFound":
      return { case: "gapFound", value: fromGap(data.gap) };
    case "gapClosed": {
      const eventCount = BigInt(data.eventCount);
      return { case: "gapClosed", value: { ...fromGap(data.gap), eventCount } };
    }
    case "unreadable": {
      const { table, itemKey } = data;
      return { case: "changeUnreadable", value: { table, itemKey } };
    }
  }
}

const version = ({ version: recordVersion }: { readonly version: number }) => ({
  recordVersion: BigInt(recordVersion),
});

const directions = { BELOW: Direction.BELOW, ABOVE: Direction.ABOVE } as const;

const fromCrossing = (crossing: Extract<EventData, { kind: "crossing" }>) => ({
  programId: crossing.programId,
  userId: crossing.userId,
  limitPoints: BigInt(crossing.limit),
  direction: directions[crossing.direction],
  previousAvailablePoints: BigInt(crossing.previousPoints),
  availablePoints: BigInt(crossing.points),
  entryNumber: BigInt(crossing.entryNumber),
});

const fromBulkGrant = ({ revision, result, ...bulkGrant }: BulkGrant) =>
  fromRecord(BulkGrantChangedSchema, {
    programId: bulkGrant.programId,
    bulkGrantId: bulkGrant.bulkGrantId,
    state: bulkGrant.state,
    revision: revision.number,
    rowCount: revision.rowCount,
    totalPoints: revision.totalPoints,
    approvalCount: bulkGrant.approvals.length,
    requiredApprovalCount: neededApprovals({ ...bulkGrant, revision }),
    paused: bulkGrant.pause !== undefined,
    result: result && withProblems(result),
    submitter: revision.submitter,
    updateTime: bulkGrant.updateTime,
    title: revision.title,
  });

/** Reactions and events are counted apart: both may have a kind of the same name. */
function fromTargetState(target: Target) {
  const reactionCounts: Record<string, bigint> = {};
  const eventCounts: Record<string, bigint> = {};
  for (const [kind, count] of Object.entries(target.counts)) {
    (isEventKind(kind) ? eventCounts : reactionCounts)[kindName(kind)] = BigInt(count);
  }
  return { target: fromTarget(target), reactionCounts, eventCounts };
}

const fromProgram = (program: Program) => ({
  programId: program.programId,
  timeZone: program.timeZone,
  lifetimeMonths: newestLifetime(program).lifetimeMonths,
  reservationsPaused: program.reservationPause !== undefined,
  notices: program.notices && { ...program.notices },
  balanceLimits:
    program.balanceLimits && fromRecord(Program_BalanceLimitsSchema, program.balanceLimits),
});

function fromNotification({ ownerId, version, group, readTime, isGone }: NotificationData) {
  const { kind, target, generation, actorCount, latestMembers } = group;
  const [latest] = latestMembers as [Member];
  return {
    ownerId,
    notificationId: encodeId({ ownerId, kind, target, generation }),
    targetName: isNoTarget(target) ? undefined : { type: target.type, id: target.id },
    kind: kindName(kind),
    notificationType: isEventKind(kind) ? NotificationType.EVENT : NotificationType.REACTION,
    inboxVersion: BigInt(versionOf(group)),
    recordVersion: BigInt(version),
    ...(!isGone && {
      actorCount: BigInt(actorCount),
      latestUserId: latest.userId,
      latestDisplayName: latest.displayName,
      readTime: fromOptionalInstant(readTime),
    }),
  };
}

const fromGap = ({ table, startTime, endTime }: LostChanges) => ({
  table,
  startTime: fromInstant(startTime),
  endTime: fromInstant(endTime),
});
