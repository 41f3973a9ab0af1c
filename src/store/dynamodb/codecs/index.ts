/** The codecs by kind of record, and the items that they make. */
import type { Kind, Records, Ref } from "../../../app/ports/records.ts";
import { type Item, N, num } from "../sdk/attributes.ts";
import { bulkAction } from "./bulk-grant-actions.ts";
import {
  blockCheck,
  blockOutcome,
  bulkContent,
  bulkGrant,
  bulkRevision,
  pendingUpload,
  revisionContent,
} from "./bulk-grants.ts";
import { bulkRules, earlierBulkRules, pointsWindow } from "./bulk-rules.ts";
import { bulkSummary } from "./bulk-summaries.ts";
import type { Codec } from "./codec.ts";
import { eventActor, eventOwner, notificationEvent, notifiedEvent } from "./events.ts";
import { hold } from "./holds.ts";
import { liabilityReport } from "./liability-reports.ts";
import {
  closedGroups,
  inbox,
  mutedPerson,
  mutedTarget,
  readGroup,
  readMark,
  unreadGroup,
} from "./notifications.ts";
import { account, entry, event, lease, program, testClock } from "./points.ts";
import { pendingPurge, reaction, target } from "./reactions.ts";
import { dueHour, pendingStart, reservation } from "./reservations.ts";

export type { Item } from "../sdk/attributes.ts";

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
