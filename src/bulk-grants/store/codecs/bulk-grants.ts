/** How bulk grants, their revisions, the rows of uploads and what became of the rows are stored. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { approval, caller } from "../../../platform/dynamodb/callers.ts";
import { defineRecord } from "../../../platform/dynamodb/define-record.ts";
import {
  byName,
  type Fields,
  field,
  group,
  list,
  map,
  maybe,
  number,
  numberAt,
  numberOf,
  oneOf,
  optional,
  partOf,
  text,
  tuple,
  yes,
} from "../../../platform/dynamodb/fields.ts";
import { type Item, pad, parts, S } from "../../../platform/dynamodb/sdk/attributes.ts";
import { eventText } from "../../../points/store/codecs/points.ts";
import {
  type Announcement,
  activeStates,
  type BulkGrant,
  type BulkGrantName,
  type BulkGrantState,
  type CheckCounts,
  type Revision,
  type RunCounts,
  type SheetAddress,
  type UserRequest,
} from "../../rules/bulk-grant.ts";
import type { TierPoints } from "../../rules/tier-points.ts";
import { action } from "./bulk-grant-actions.ts";
import { numberedKey } from "./bulk-keys.ts";
import { blockProblem } from "./bulk-rows.ts";
import { sheetReading } from "./sheet-readings.ts";
import { sheetWarning } from "./sheet-warnings.ts";

/** The fields of a revision: those of its own item, and of the map in its bulk grant. */
const revisionFields: Fields<Revision> = {
  number: field("n", number),
  uploadId: field("u", text),
  rowCount: field("k", number),
  totalPoints: field("p", number),
  rowsDigest: field("g", text),
  digest: field("h", text),
  executeTime: optional("x", number),
  expireMonth: optional("em", number),
  hasExpireMonths: optional("er", yes),
  requiredApprovalCount: field("a", number),
  exceededMaxTotalPoints: optional("e", number),
  submitter: caller("w"),
  starter: maybe(caller("b")),
  submitTime: field("t", number),
  title: optional("l", text),
  cause: optional("o", text),
  source: optional("f", text),
  sourceUrl: optional("fu", text),
  reversedBulkGrantId: optional("y", text),
  sameContentBulkGrantId: optional("s", text),
  request: optional(
    "rq",
    tuple<UserRequest>({ userId: text, reason: text, revokedEvent: eventText }, 2),
  ),
};

export const bulkRevision = defineRecord<"bulkRevision">({
  table: "bulk",
  key: (id) => numberedKey("R", id),
  fields: { ...revisionFields, reading: optional("rd", sheetReading) },
});

const nameFields: Fields<BulkGrantName> = {
  programId: partOf("pk", 1),
  bulkGrantId: partOf("pk", 2),
};

/** Names the bulk grant of a key in an index of keys. */
export const bulkGrantNameOf = group(nameFields).get;

/** The name and, if there is one, the address. */
const place = tuple<SheetAddress>({ name: text, url: text }, 1);

export const bulkGrant = defineRecord<"bulkGrant">({
  table: "bulk",
  key: (id) => ({ pk: S(`G#${id}`), sk: S("G") }),
  fields: {
    ...nameFields,
    state: partOf("is", 1),
    revision: field("r", map(revisionFields)),
    createTime: numberOf("ix", 0),
    updateTime: field("m", number),
    grantedBefore: optional("g", number),
    checked: optional(
      "c",
      tuple<CheckCounts>({
        invalidCount: number,
        alreadyGrantedCount: number,
        alreadyGrantedPoints: number,
      }),
    ),
    refusedWarnings: optional("wr", list(sheetWarning)),
    approvals: field("a", list(approval)),
    raisedApprovalCount: optional("ra", number),
    tierPoints: optional(
      "k",
      tuple<TierPoints>({ hour: number, approvalCount: number, points: number }),
    ),
    remindTime: field("rt", number),
    reminded: optional("rd", yes),
    announced: optional("an", oneOf<Announcement>()),
    expireTime: field("xt", number),
    pause: optional("pa", action),
    cancelRequest: optional("ca", action),
    run: field("n", number),
    startTime: optional("b", number),
    endTime: optional("d", number),
    result: maybe(
      group<RunCounts>({
        grantedCount: numberAt("o", 0),
        grantedPoints: numberAt("o", 1),
        failedCount: numberAt("o", 2),
        notRunCount: numberAt("o", 3),
        problemCounts: field("f", byName(number)),
      }),
    ),
    countsFinalTime: optional("cf", number),
    movedTo: optional("mv", place),
    failedRowsAt: optional("fr", place),
    report: optional("y", oneOf<NonNullable<BulkGrant["report"]>>()),
    actions: field("h", list(action)),
    actionCount: field("q", number),
  },
  derived: ({ programId, bulkGrantId, state, createTime, countsFinalTime }) => ({
    ip: S(programId),
    is: S(stateKey(programId, state)),
    ...((activeStates.includes(state) || countsFinalTime !== undefined) && { ia: activeKey }),
    ix: S(`${timeKey(createTime)}#${bulkGrantId}`),
  }),
});

/** The hash key of the index of active bulk grants. */
export const activeKey = S("A");

/** The hash key of the index by state. */
export const stateKey = (programId: string, state: BulkGrantState): string =>
  `${programId}#${state}`;

/** A create time in the range key, padded so that it sorts as text in the order of times. */
export const timeKey = (time: number): string => pad(time, 15);

export const bulkContent = defineRecord<"bulkContent">({
  table: "bulk",
  key: (id) => ({ pk: S(`C#${id}`), sk: S("C") }),
  fields: { bulkGrantId: field("g", text) },
});

export const revisionContent = defineRecord<"revisionContent">({
  table: "bulk",
  key: (id) => {
    const [programId, bulkGrantId, contentHash] = id.split("#");
    return { pk: S(`G#${programId}#${bulkGrantId}`), sk: S(`H#${contentHash}`) };
  },
  fields: { revision: field("r", number) },
});

/** The partition of all pending uploads. */
export const pendingUploadsKey = S("P");

export const pendingUpload = defineRecord<"pendingUpload">({
  table: "bulk",
  key: (id) => ({ pk: pendingUploadsKey, sk: S(id) }),
  fields: {
    uploadId: partOf("sk", 0),
    startTime: field("t", number),
    isDropped: optional("x", yes),
  },
});

export const blockCheck = defineRecord<"blockCheck">({
  table: "bulk",
  key: (id) => blockKey("C", id),
  fields: {
    revision: field("r", number),
    alreadyGranted: field("g", list(number)),
    alreadyGrantedPoints: field("p", number),
    withoutAccount: field("w", list(number)),
    withoutAccountCount: numberAt("a", 0),
    frozenCount: numberAt("a", 1),
    problems: field("e", list(blockProblem)),
  },
});

export const blockOutcome = defineRecord<"blockOutcome">({
  table: "bulk",
  key: (id) => blockKey("O", id),
  fields: {
    run: field("n", number),
    grantedCount: field("g", number),
    grantedPoints: field("p", number),
    failures: field("e", list(blockProblem)),
  },
});

/** The partition of an upload: its blocks of rows, their checks and their outcomes. */
export const uploadKey = (uploadId: string): AttributeValue => S(`U#${uploadId}`);

/** The key of an item of a block, whose id is the upload and the number of the block. */
function blockKey(kind: "R" | "C" | "O", id: string): Item {
  const [uploadId = "", block] = id.split("#");
  return { pk: uploadKey(uploadId), sk: S(`${kind}#${pad(Number(block), 6)}`) };
}

/** The number of the block to which an item belongs. */
export const blockNumber = (item: Item): number => Number(parts(item, "sk")[1]);

/** The key of a block of rows. */
export const rowsKey = (uploadId: string, block: number): Item =>
  blockKey("R", `${uploadId}#${block}`);
