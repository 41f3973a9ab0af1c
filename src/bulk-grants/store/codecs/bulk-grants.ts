/** How bulk grants, their revisions, the rows of uploads and what became of the rows are stored. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import {
  decodeApproval,
  decodeCaller,
  encodeApproval,
  encodeCaller,
} from "../../../platform/dynamodb/callers.ts";
import type { Codec } from "../../../platform/dynamodb/codec.ts";
import {
  type Item,
  N,
  num,
  numbers,
  nums,
  pad,
  parts,
  S,
  text,
} from "../../../platform/dynamodb/sdk/attributes.ts";
import {
  type Announcement,
  activeStates,
  type BulkGrant,
  type BulkGrantName,
  type BulkGrantState,
  type CheckCounts,
  type Revision,
  type RunCounts,
  type SheetPlace,
} from "../../rules/bulk-grant.ts";
import type { CountedPoints } from "../../rules/counted-points.ts";
import { decodeAction, encodeAction } from "./bulk-grant-actions.ts";
import { numberedKey } from "./bulk-keys.ts";
import { decodeProblem, encodeProblem } from "./bulk-rows.ts";

export const bulkGrant: Codec<"bulkGrant"> = {
  table: "bulk",
  key: (id) => ({ pk: S(`G#${id}`), sk: S("G") }),
  encode: (value) => ({
    ip: S(value.programId),
    is: S(stateKey(value.programId, value.state)),
    ...((activeStates.includes(value.state) || value.countsFinalTime !== undefined) && {
      ia: activeKey,
    }),
    ix: S(`${timeKey(value.createTime)}#${value.bulkGrantId}`),
    r: { M: encodeRevision(value.revision) },
    m: N(value.updateTime),
    ...(value.grantedBefore !== undefined && { g: N(value.grantedBefore) }),
    ...(value.checked && { c: encodeCheck(value.checked) }),
    a: { L: value.approvals.map(encodeApproval) },
    ...(value.raisedApprovalCount !== undefined && { ra: N(value.raisedApprovalCount) }),
    ...(value.counted && { k: encodeCounted(value.counted) }),
    rt: N(value.remindTime),
    ...(value.reminded && { rd: { BOOL: true } }),
    ...(value.announced && { an: S(value.announced) }),
    xt: N(value.expireTime),
    ...(value.pause && { pa: encodeAction(value.pause) }),
    ...(value.cancelRequest && { ca: encodeAction(value.cancelRequest) }),
    n: N(value.run),
    ...(value.startTime !== undefined && { b: N(value.startTime) }),
    ...(value.endTime !== undefined && { d: N(value.endTime) }),
    ...(value.result && encodeResult(value.result)),
    ...(value.countsFinalTime !== undefined && { cf: N(value.countsFinalTime) }),
    ...(value.movedTo && { mv: encodePlace(value.movedTo) }),
    ...(value.failedRowsAt && { fr: encodePlace(value.failedRowsAt) }),
    ...(value.report && { y: S(value.report) }),
    h: { L: value.actions.map(encodeAction) },
    q: N(value.actionCount),
  }),
  decode: (item) => {
    return {
      ...bulkGrantNameOf(item),
      state: parts(item, "is")[1] as BulkGrantState,
      revision: decodeRevision(item.r?.M ?? {}),
      createTime: Number(parts(item, "ix")[0]),
      updateTime: num(item, "m"),
      ...(item.g && { grantedBefore: num(item, "g") }),
      ...(item.c && { checked: decodeCheck(item) }),
      approvals: (item.a?.L ?? []).map(decodeApproval),
      ...(item.ra && { raisedApprovalCount: num(item, "ra") }),
      ...(item.k && { counted: decodeCounted(item) }),
      remindTime: num(item, "rt"),
      ...(item.rd && { reminded: true as const }),
      ...(item.an && { announced: text(item, "an") as Announcement }),
      expireTime: num(item, "xt"),
      ...(item.pa && { pause: decodeAction(item.pa) }),
      ...(item.ca && { cancelRequest: decodeAction(item.ca) }),
      run: num(item, "n"),
      ...(item.b && { startTime: num(item, "b") }),
      ...(item.d && { endTime: num(item, "d") }),
      ...(item.o && { result: decodeResult(item) }),
      ...(item.cf && { countsFinalTime: num(item, "cf") }),
      ...(item.mv && { movedTo: decodePlace(item.mv) }),
      ...(item.fr && { failedRowsAt: decodePlace(item.fr) }),
      ...(item.y && { report: text(item, "y") as NonNullable<BulkGrant["report"]> }),
      actions: (item.h?.L ?? []).map(decodeAction),
      actionCount: num(item, "q"),
    };
  },
};

/** The hash key of the index of active bulk grants. */
export const activeKey = S("A");

/** Names the bulk grant of a key in an index of keys. */
export function bulkGrantNameOf(item: Item): BulkGrantName {
  const [, programId, bulkGrantId] = parts(item, "pk") as [string, string, string];
  return { programId, bulkGrantId };
}

/** The hash key of the index by state. */
export const stateKey = (programId: string, state: BulkGrantState): string =>
  `${programId}#${state}`;

/** A create time in the range key, padded so that it sorts as text in the order of times. */
export const timeKey = (time: number): string => pad(time, 15);

export const bulkRevision: Codec<"bulkRevision"> = {
  table: "bulk",
  key: (id) => numberedKey("R", id),
  encode: encodeRevision,
  decode: decodeRevision,
};

/** The attributes of a revision: those of its own item, and of the map in its bulk grant. */
function encodeRevision(value: Revision): Item {
  return {
    n: N(value.number),
    u: S(value.uploadId),
    k: N(value.rowCount),
    p: N(value.totalPoints),
    g: S(value.rowsDigest),
    h: S(value.digest),
    ...(value.executeTime !== undefined && { x: N(value.executeTime) }),
    ...(value.expireMonth !== undefined && { em: N(value.expireMonth) }),
    ...(value.hasExpireMonths && { er: { BOOL: true } }),
    a: N(value.requiredApprovalCount),
    ...(value.exceededMaxTotalPoints !== undefined && { e: N(value.exceededMaxTotalPoints) }),
    ...encodeCaller("w", value.submitter),
    ...(value.starter && encodeCaller("b", value.starter)),
    t: N(value.submitTime),
    ...(value.title !== undefined && { l: S(value.title) }),
    ...(value.cause && { o: S(value.cause) }),
    ...(value.source !== undefined && { f: S(value.source) }),
    ...(value.sourceUrl !== undefined && { fu: S(value.sourceUrl) }),
    ...(value.reversedBulkGrantId !== undefined && { y: S(value.reversedBulkGrantId) }),
    ...(value.sameContentBulkGrantId !== undefined && { s: S(value.sameContentBulkGrantId) }),
  };
}

function decodeRevision(item: Item): Revision {
  return {
    number: num(item, "n"),
    uploadId: text(item, "u"),
    rowCount: num(item, "k"),
    totalPoints: num(item, "p"),
    rowsDigest: text(item, "g"),
    digest: text(item, "h"),
    ...(item.x && { executeTime: num(item, "x") }),
    ...(item.em && { expireMonth: num(item, "em") }),
    ...(item.er && { hasExpireMonths: true as const }),
    requiredApprovalCount: num(item, "a"),
    ...(item.e && { exceededMaxTotalPoints: num(item, "e") }),
    submitter: decodeCaller(item, "w"),
    ...(item.b && { starter: decodeCaller(item, "b") }),
    submitTime: num(item, "t"),
    ...(item.l && { title: text(item, "l") }),
    ...(item.o && { cause: text(item, "o") }),
    ...(item.f && { source: text(item, "f") }),
    ...(item.fu && { sourceUrl: text(item, "fu") }),
    ...(item.y && { reversedBulkGrantId: text(item, "y") }),
    ...(item.s && { sameContentBulkGrantId: text(item, "s") }),
  };
}

const encodeCheck = (checked: CheckCounts) =>
  numbers([checked.invalidCount, checked.alreadyGrantedCount, checked.alreadyGrantedPoints]);

function decodeCheck(item: Item): CheckCounts {
  const [invalidCount = 0, alreadyGrantedCount = 0, alreadyGrantedPoints = 0] = nums(item, "c");
  return { invalidCount, alreadyGrantedCount, alreadyGrantedPoints };
}

const encodeCounted = ({ hour, approvalCount, points }: CountedPoints) =>
  numbers([hour, approvalCount, points]);

function decodeCounted(item: Item): CountedPoints {
  const [hour = 0, approvalCount = 0, points = 0] = nums(item, "k");
  return { hour, approvalCount, points };
}

const encodeResult = (result: RunCounts): Item => ({
  o: numbers([result.grantedCount, result.grantedPoints, result.failedCount, result.notRunCount]),
  f: {
    M: Object.fromEntries(
      Object.entries(result.problemCounts).map(([code, count]) => [code, N(count)]),
    ),
  },
});

function decodeResult(item: Item): RunCounts {
  const [grantedCount = 0, grantedPoints = 0, failedCount = 0, notRunCount = 0] = nums(item, "o");
  const byCode = item.f?.M ?? {};
  const problemCounts = Object.fromEntries(
    Object.keys(byCode).map((code) => [code, num(byCode, code)]),
  );
  return { grantedCount, grantedPoints, failedCount, notRunCount, problemCounts };
}

/** A list of the name and, if there is one, the address. */
const encodePlace = ({ name, url }: SheetPlace): AttributeValue => ({
  L: [S(name), ...(url === undefined ? [] : [S(url)])],
});

function decodePlace({ L: [name, url] = [] }: AttributeValue): SheetPlace {
  return { name: name?.S ?? "", ...(url?.S !== undefined && { url: url.S }) };
}

export const bulkContent: Codec<"bulkContent"> = {
  table: "bulk",
  key: (id) => ({ pk: S(`C#${id}`), sk: S("C") }),
  encode: ({ bulkGrantId }) => ({ g: S(bulkGrantId) }),
  decode: (item) => ({ bulkGrantId: text(item, "g") }),
};

export const revisionContent: Codec<"revisionContent"> = {
  table: "bulk",
  key: (id) => {
    const [programId, bulkGrantId, contentHash] = id.split("#");
    return { pk: S(`G#${programId}#${bulkGrantId}`), sk: S(`H#${contentHash}`) };
  },
  encode: ({ revision }) => ({ r: N(revision) }),
  decode: (item) => ({ revision: num(item, "r") }),
};

/** The partition of all pending uploads. */
export const pendingUploadsKey = S("P");

export const pendingUpload: Codec<"pendingUpload"> = {
  table: "bulk",
  key: (id) => ({ pk: pendingUploadsKey, sk: S(id) }),
  encode: ({ startTime, isDropped }) => ({
    t: N(startTime),
    ...(isDropped && { x: { BOOL: true } }),
  }),
  decode: (item) => ({
    uploadId: text(item, "sk"),
    startTime: num(item, "t"),
    ...(item.x && { isDropped: true as const }),
  }),
};

export const blockCheck: Codec<"blockCheck"> = {
  table: "bulk",
  key: (id) => blockKey("C", id),
  encode: ({ revision, alreadyGranted, alreadyGrantedPoints, problems, ...accounts }) => ({
    r: N(revision),
    g: numbers(alreadyGranted),
    p: N(alreadyGrantedPoints),
    a: numbers([accounts.withoutAccountCount, accounts.frozenCount]),
    e: { L: problems.map(encodeProblem) },
  }),
  decode: (item) => ({
    revision: num(item, "r"),
    alreadyGranted: nums(item, "g"),
    alreadyGrantedPoints: num(item, "p"),
    withoutAccountCount: nums(item, "a")[0] ?? 0,
    frozenCount: nums(item, "a")[1] ?? 0,
    problems: (item.e?.L ?? []).map(decodeProblem),
  }),
};

export const blockOutcome: Codec<"blockOutcome"> = {
  table: "bulk",
  key: (id) => blockKey("O", id),
  encode: ({ run, grantedCount, grantedPoints, failures }) => ({
    n: N(run),
    g: N(grantedCount),
    p: N(grantedPoints),
    e: { L: failures.map(encodeProblem) },
  }),
  decode: (item) => ({
    run: num(item, "n"),
    grantedCount: num(item, "g"),
    grantedPoints: num(item, "p"),
    failures: (item.e?.L ?? []).map(decodeProblem),
  }),
};

/** The partition of an upload: its blocks of rows, their checks and their outcomes. */
export const uploadKey = (uploadId: string): AttributeValue => S(`U#${uploadId}`);

/** The key of an item of a block, whose id is the upload and the number of the block. */
function blockKey(kind: "R" | "C" | "O", id: string): Item {
  const [uploadId = "", block] = id.split("#");
  return { pk: uploadKey(uploadId), sk: S(`${kind}#${pad(Number(block), 4)}`) };
}

/** The number of the block to which an item belongs. */
export const blockNumber = (item: Item): number => Number(parts(item, "sk")[1]);

/** The key of a block of rows. */
export const rowsKey = (uploadId: string, block: number): Item =>
  blockKey("R", `${uploadId}#${block}`);
