/** The codecs by kind of record, and the items that they make. */

import { act } from "../acts/store/codecs/acts.ts";
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
import { dueHour, pendingStart } from "../due/store/codecs/due.ts";
import { subscription } from "../events/store/codecs/subscriptions.ts";
import {
  eventActor,
  eventOwner,
  notificationEvent,
  notifiedEvent,
} from "../feed/store/codecs/events.ts";
import {
  closedGroups,
  mutedHash,
  mutedPerson,
  mutedTarget,
  readGroup,
  readMark,
} from "../feed/store/codecs/notifications.ts";
import {
  inbox,
  pendingPurge,
  reaction,
  target,
  unreadGroup,
} from "../feed/store/codecs/reactions.ts";
import { hold } from "../holds/store/codecs/holds.ts";
import { type Codec, type Codecs, itemWith } from "../platform/dynamodb/codec.ts";
import type { Item } from "../platform/dynamodb/sdk/attributes.ts";
import type { Kind, Records, Ref } from "../platform/ports/records.ts";
import { job } from "../points/store/codecs/jobs.ts";
import {
  account,
  entry,
  event,
  installation,
  lease,
  program,
  testClock,
} from "../points/store/codecs/points.ts";
import {
  earlierRuleChange,
  pointsWindow,
  ruleChange,
} from "../points/store/codecs/rule-changes.ts";
import { readEntry } from "../points/store/ledger-items.ts";
import { reservation } from "../reservations/store/codecs/reservations.ts";

export const codecs: Codecs = {
  program,
  account,
  entry: { ...entry, read: readEntry },
  event,
  job,
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
  mutedHash,
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
  ruleChange,
  earlierRuleChange,
  pointsWindow,
  act,
  subscription,
  testClock,
  lease,
  installation,
};

export const codecOf = <K extends Kind>(kind: K): Codec<K> => codecs[kind];

/** The item of a record with its key and version. */
export const toItem = ({ kind, id }: Ref, value: Records[Kind], version: number): Item =>
  itemWith(codecs[kind], id, value, version);
