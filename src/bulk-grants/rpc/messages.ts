/** Maps bulk grants, their rows and the fields of requests between messages and the domain. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  BulkGrant_Action_Type as ActionType,
  type BulkGrant_ActionSchema,
  type BulkGrantRevisionSchema,
  type BulkGrantRowSchema,
  type BulkGrantSchema,
  BulkGrantRow_State as RowState,
  type SheetCheckSchema,
  BulkGrant_State as State,
} from "../../gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import { callerOf, deadlineOf } from "../../platform/edge/context.ts";
import { fromApproval, fromCaller } from "../../platform/messages/callers.ts";
import { fromInstant, fromOptionalMonth } from "../../platform/messages/scalars.ts";
import type { Instant } from "../../platform/words/month.ts";
import { toProgramId } from "../../platform/words/program-ids.ts";
import type {
  Action,
  ActionName,
  BulkGrant,
  BulkGrantState,
  Revision,
  RunCounts,
} from "../rules/bulk-grant.ts";
import { problemText } from "../rules/sheet.ts";
import type { SheetCheck } from "../use-cases/check-sheet.ts";
import type { BulkGrantChange } from "../use-cases/commands.ts";
import type {
  BulkGrantWithProgress,
  ReadRow,
  RowState as RowStateName,
} from "../use-cases/queries.ts";

const states: Readonly<Record<BulkGrantState, State>> = {
  VALIDATING: State.VALIDATING,
  INVALID: State.INVALID,
  AWAITING_APPROVAL: State.AWAITING_APPROVAL,
  REJECTED: State.REJECTED,
  APPROVED: State.APPROVED,
  RUNNING: State.RUNNING,
  DONE: State.DONE,
  DONE_WITH_FAILURES: State.DONE_WITH_FAILURES,
  CANCELLED: State.CANCELLED,
};

const rowStates: Readonly<Record<RowStateName, RowState>> = {
  PENDING: RowState.PENDING,
  GRANTED: RowState.GRANTED,
  ALREADY_GRANTED: RowState.ALREADY_GRANTED,
  INVALID: RowState.INVALID,
  FAILED: RowState.FAILED,
  NOT_RUN: RowState.NOT_RUN,
};

const actionTypes: Readonly<Record<ActionName, ActionType>> = {
  SUBMIT: ActionType.SUBMIT,
  APPROVE: ActionType.APPROVE,
  REJECT: ActionType.REJECT,
  CANCEL: ActionType.CANCEL,
  PAUSE: ActionType.PAUSE,
  RESUME: ActionType.RESUME,
  RETRY: ActionType.RETRY,
  EXPIRE: ActionType.EXPIRE,
};

/** The state of bulk grants that a request selects; undefined for all. */
export const toState = (value: State): BulkGrantState | undefined =>
  (Object.keys(states) as BulkGrantState[]).find((name) => states[name] === value);

export const fromState = (state: BulkGrantState): State => states[state];

/** The state of rows that a request selects; undefined for all. */
export const toRowState = (value: RowState): RowStateName | undefined =>
  (Object.keys(rowStates) as RowStateName[]).find((name) => rowStates[name] === value);

/** The bulk grant that a request names. */
export const toName = (request: { readonly programId: string; readonly bulkGrantId: string }) => ({
  programId: toProgramId(request.programId),
  bulkGrantId: request.bulkGrantId,
});

/** The change that the caller of a request makes. */
export const toChange = (
  request: Parameters<typeof toName>[0] & { readonly reason: string },
  context: HandlerContext,
): BulkGrantChange => ({
  ...toName(request),
  caller: callerOf(context),
  reason: request.reason,
  deadline: deadlineOf(context),
});

/** The message of a bulk grant. */
export function fromBulkGrant(bulkGrant: BulkGrant): MessageInitShape<typeof BulkGrantSchema> {
  const { revision, checked, result, pause, cancelRequest, movedTo, failedRowsAt } = bulkGrant;
  return {
    programId: bulkGrant.programId,
    bulkGrantId: bulkGrant.bulkGrantId,
    state: fromState(bulkGrant.state),
    revision: revision.number,
    digest: revision.digest,
    rowsDigest: revision.rowsDigest,
    rowCount: revision.rowCount,
    totalPoints: BigInt(revision.totalPoints),
    ...fromTimes(bulkGrant),
    requiredApprovalCount: revision.requiredApprovalCount,
    raisedApprovalCount: bulkGrant.raisedApprovalCount ?? 0,
    approvals: bulkGrant.approvals.map(fromApproval),
    submitter: fromCaller(revision.submitter),
    ...fromStarter(revision),
    title: revision.title ?? "",
    cause: revision.cause ?? "",
    source: revision.source ?? "",
    sourceUrl: revision.sourceUrl ?? "",
    ...(movedTo && { movedTo: { url: "", ...movedTo } }),
    ...(failedRowsAt && { failedRowsAt: { url: "", ...failedRowsAt } }),
    reversedBulkGrantId: revision.reversedBulkGrantId ?? "",
    sameContentBulkGrantId: revision.sameContentBulkGrantId ?? "",
    ...fromExpiry(revision),
    exceededMaxTotalPoints: BigInt(revision.exceededMaxTotalPoints ?? 0),
    invalidCount: checked?.invalidCount ?? 0,
    alreadyGrantedCount: checked?.alreadyGrantedCount ?? 0,
    alreadyGrantedPoints: BigInt(checked?.alreadyGrantedPoints ?? 0),
    run: bulkGrant.run,
    ...(result && { result: fromResult(result) }),
    ...(pause && { pause: fromAction(pause) }),
    ...(cancelRequest && { cancelRequest: fromAction(cancelRequest) }),
    actions: bulkGrant.actions.map(fromAction),
  };
}

const fromTimes = ({ revision, createTime, updateTime, ...bulkGrant }: BulkGrant) => ({
  createTime: fromInstant(createTime),
  updateTime: fromInstant(updateTime),
  submitTime: fromInstant(revision.submitTime),
  expireTime: fromInstant(bulkGrant.expireTime),
  ...optionalTime("executeTime", revision.executeTime),
  ...optionalTime("startTime", bulkGrant.startTime),
  ...optionalTime("endTime", bulkGrant.endTime),
  ...optionalTime("countsFinalTime", bulkGrant.countsFinalTime),
});

const optionalTime = <K extends string>(name: K, time: Instant | undefined) =>
  (time === undefined ? {} : { [name]: fromInstant(time) }) as {
    [name in K]?: ReturnType<typeof fromInstant>;
  };

const fromStarter = ({ starter }: Pick<Action, "starter">) => {
  const message = starter && fromCaller(starter);
  return message && { starter: message };
};

/** The message of an action. */
export const fromAction = (action: Action): MessageInitShape<typeof BulkGrant_ActionSchema> => ({
  ...fromApproval(action),
  ...fromStarter(action),
  type: actionTypes[action.action],
  revision: action.revision,
});

/** The message of a revision. */
export const fromRevision = (
  revision: Revision,
): MessageInitShape<typeof BulkGrantRevisionSchema> => ({
  revision: revision.number,
  rowsDigest: revision.rowsDigest,
  rowCount: revision.rowCount,
  totalPoints: BigInt(revision.totalPoints),
  submitter: fromCaller(revision.submitter),
  ...fromStarter(revision),
  submitTime: fromInstant(revision.submitTime),
  ...optionalTime("executeTime", revision.executeTime),
  source: revision.source ?? "",
  sourceUrl: revision.sourceUrl ?? "",
  title: revision.title ?? "",
  cause: revision.cause ?? "",
  ...fromExpiry(revision),
});

const fromExpiry = ({ expireMonth, hasExpireMonths }: Revision) => ({
  expireMonth: fromOptionalMonth(expireMonth),
  hasExpireMonths: hasExpireMonths ?? false,
});

const fromResult = ({ notRunCount, problemCounts, ...progress }: RunCounts) => ({
  ...fromProgress(progress),
  notRunCount,
  problemCounts: fromCounts(problemCounts),
});

const fromCounts = (counts: Readonly<Partial<Record<string, number>>>) =>
  Object.entries(counts).map(([code, rowCount = 0]) => ({ code, rowCount }));

const fromProgress = ({
  grantedCount,
  grantedPoints,
  failedCount,
}: BulkGrantWithProgress["progress"]) => ({
  grantedCount,
  grantedPoints: BigInt(grantedPoints),
  failedCount,
});

/** The messages of a bulk grant and its progress. */
export const fromWithProgress = ({ bulkGrant, progress }: BulkGrantWithProgress) => ({
  bulkGrant: fromBulkGrant(bulkGrant),
  progress: fromProgress(progress),
});

/** The message of a row. */
export function fromRow({
  row: { line, userId, points, reason, rawPoints, expireMonth = "" },
  state,
  problems,
}: ReadRow): MessageInitShape<typeof BulkGrantRowSchema> {
  return {
    ...{ line, userId, reason, expireMonth },
    points: BigInt(points),
    rawPoints: rawPoints ?? "",
    state: rowStates[state],
    problems: problems.map((problem) => ({
      ...{ line, userId, code: problem.code },
      message: problemText(problem),
    })),
  };
}

/** The message of a check. */
export const fromCheck = (check: SheetCheck): MessageInitShape<typeof SheetCheckSchema> => ({
  rowCount: check.rowCount,
  totalPoints: BigInt(check.totalPoints),
  invalidCount: check.invalidCount,
  alreadyGrantedCount: check.alreadyGrantedCount,
  trimmedUserIdCount: check.trimmedUserIdCount,
  rowsDigest: check.rowsDigest,
  problemCounts: fromCounts(check.problemCounts),
  problems: check.problems.map((problem) => ({ ...problem })),
  sameContentBulkGrantId: check.sameContentBulkGrantId ?? "",
});
