/** The codecs by kind of record, and the items that they make. */

import { bulkAction } from "../bulk-grants/store/codecs/bulk-grant-actions.ts";
import {
  blockCheck,
  blockOutcome,
  bulkContent,
  bulkGrant,
  bulkRevision,
  pendingUpload,
  revisionContent,
} from "../bulk-grants/store/codecs/bulk-grants.ts";
import { bulkSummary } from "../bulk-grants/store/codecs/bulk-summaries.ts";
import {
  eventActor,
  eventOwner,
  notificationEvent,
  notifiedEvent,
} from "../feed/store/codecs/events.ts";
import {
  closedGroups,
  inbox,
  mutedPerson,
  mutedTarget,
  readGroup,
  readMark,
  unreadGroup,
} from "../feed/store/codecs/notifications.ts";
import { pendingPurge, reaction, target } from "../feed/store/codecs/reactions.ts";
import { hold } from "../holds/store/codecs/holds.ts";
import type { Codec } from "../platform/dynamodb/codec.ts";
import { type Item, N, num } from "../platform/dynamodb/sdk/attributes.ts";
import type { Kind, Records, Ref } from "../platform/ports/records.ts";
import { bulkRules, earlierBulkRules, pointsWindow } from "../points/store/codecs/bulk-rules.ts";
import { liabilityReport } from "../points/store/codecs/liability-reports.ts";
import { account, entry, event, lease, program, testClock } from "../points/store/codecs/points.ts";
import { dueHour, pendingStart, reservation } from "../reservations/store/codecs/reservations.ts";

export type { Item } from "../platform/dynamodb/sdk/attributes.ts";

const codecs: { readonly [K in Kind]: Codec<K> } = {
  program,
  account,
  entry,
  event,
  liabilityReport,
  reservation,
  pendingStart,
  dueHour,
  hold,
  target,
  pendingPurge,
  reaction,
  inbox,
  unreadGroup,
  closedGroups,
  readGroup,
  readMark,
  mutedPerson,
  mutedTarget,
  notifiedEvent,
  notificationEvent,
  eventActor,
  eventOwner,
  bulkGrant,
  bulkRevision,
  bulkSummary,
  bulkAction,
  bulkContent,
  revisionContent,
  pendingUpload,
  blockCheck,
  blockOutcome,
  bulkRules,
  earlierBulkRules,
  pointsWindow,
  testClock,
  lease,
};

export const codecOf = <K extends Kind>(kind: K): Codec<K> => codecs[kind];

/** The item of a record with its key and version. */
export function toItem(ref: Ref, value: Records[Kind], version: number): Item {
  const codec = codecOf(ref.kind) as Codec<Kind>;
  return { ...codec.key(ref.id), ...codec.encode(value as never, ref.id), v: N(version) };
}

export const versionOf = (item: Item): number => num(item, "v");
