/** Sends the requests of a history to the use cases of bulk grants, and shows what they keep. */

import {
  advanceBulkGrant,
  remindOfApproval,
  reportOutcome,
} from "../../../src/app/bulk-grants/advance.ts";
import {
  approveBulkGrant,
  cancelBulkGrant,
  pauseBulkGrant,
  rejectBulkGrant,
  resumeBulkGrant,
  retryBulkGrant,
} from "../../../src/app/bulk-grants/commands.ts";
import { failedRows, getBulkGrant, listRows } from "../../../src/app/bulk-grants/queries.ts";
import { reverseBulkGrant } from "../../../src/app/bulk-grants/reverse.ts";
import { finishRun, runBlocks } from "../../../src/app/bulk-grants/run.ts";
import { submitBulkGrant } from "../../../src/app/bulk-grants/submit.ts";
import {
  completeValidation,
  validateBlocks,
} from "../../../src/app/bulk-grants/validate-blocks.ts";
import {
  freezeAccount,
  grantPoints,
  unfreezeAccount,
  usePoints,
} from "../../../src/app/points/commands.ts";
import type { Deps } from "../../../src/app/ports/deps.ts";
import {
  blockCheckRef,
  blockOutcomeRef,
  bulkGrantRef,
  bulkRevisionRef,
} from "../../../src/app/ports/records.ts";
import type { BulkGrant } from "../../../src/domain/bulk-grant.ts";
import { asService } from "../../../src/domain/caller.ts";
import { DomainError } from "../../../src/domain/errors.ts";
import { type RowProblem, rowsPerBlock } from "../../../src/domain/sheet.ts";
import { enforceRules } from "../fixtures/bulk-rules.ts";
import { allItems } from "../fixtures/pages.ts";
import type { Answer, Head, Raw, Request, Shown } from "./bulk-requests.ts";

export const programId = "p";

const commands = {
  reject: rejectBulkGrant,
  cancel: cancelBulkGrant,
  pause: pauseBulkGrant,
  resume: resumeBulkGrant,
  retry: retryBulkGrant,
};
const accountChanges = { freeze: freezeAccount, unfreeze: unfreezeAccount };

let events = 0;

/** Returns the answer to a request. Retryable errors are thrown. */
export async function answerTo(deps: Deps, request: Request): Promise<Answer> {
  try {
    return await send(deps, request);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    if (error.reason === "STORE_UNAVAILABLE" && request.op === "run") return { failed: true };
    if (error.retryable) throw error;
    return { refused: error.reason };
  }
}

async function send(deps: Deps, request: Request): Promise<Answer> {
  switch (request.op) {
    case "submit":
    case "reverse":
      return submit(deps, request);
    case "validate":
    case "run":
      return work(deps, request);
    case "approve": {
      const digest = await digestOf(deps, request.id, request.revision);
      const row = await approveBulkGrant(deps, {
        ...nameOf(request),
        ...personOf(request),
        digest,
      });
      return { head: headOf(row) };
    }
    case "reject":
    case "cancel":
    case "pause":
    case "resume":
    case "retry": {
      const change = { ...nameOf(request), ...personOf(request) };
      return { head: headOf(await commands[request.op](deps, change)) };
    }
    case "complete":
      return {
        head: headOf(
          await completeValidation(deps, nameOf(request), request.revision, () => undefined),
        ),
      };
    case "finish":
      return { head: headOf(await finishRun(deps, nameOf(request), request.run, async () => {})) };
    case "advance": {
      const { bulkGrant, step, waitMs } = await advanceBulkGrant(deps, nameOf(request));
      return { head: headOf(bulkGrant), step, waitMs };
    }
    case "remind":
      await remindOfApproval(deps, nameOf(request));
      return { done: true };
    case "report":
      await reportOutcome(deps, nameOf(request));
      return { done: true };
    case "rules":
      await enforceRules(deps, programId, request.rules);
      return { done: true };
    default:
      await changeAccount(deps, request);
      return { done: true };
  }
}

const nameOf = ({ id }: { readonly id: string }) => ({ programId, bulkGrantId: id });
const personOf = ({ by }: { readonly by: string }) => ({
  caller: asService(by),
  reason: "",
});

type Of<Op extends Request["op"]> = Extract<Request, { readonly op: Op }>;

async function submit(deps: Deps, request: Of<"submit"> | Of<"reverse">): Promise<Answer> {
  const { by, executeTime } = request;
  const submission = { ...nameOf(request), submitter: asService(by), executeTime };
  const { bulkGrant, revision, replayed } =
    request.op === "reverse"
      ? await reverseBulkGrant(deps, { ...submission, reversedBulkGrantId: request.reverses })
      : await submitBulkGrant(
          deps,
          { ...submission, replacedRevision: request.replaces },
          { rows: stream(request.rows) },
        );
  return { head: headOf(bulkGrant), revision, replayed };
}

async function* stream(rows: readonly Raw[]): AsyncGenerator<Raw> {
  yield* rows;
}

async function work(deps: Deps, request: Of<"validate"> | Of<"run">): Promise<Answer> {
  const { from, limit } = request;
  const range = { ...nameOf(request), ...request };
  const shouldContinue = ({ next }: { readonly next: number }) => next - from < limit;
  if (request.op === "validate") {
    const { next, stopped = false } = await validateBlocks(deps, range, shouldContinue);
    return { next, stopped };
  }
  const mortal = { ...deps, awaitRowSlot: diesAfter(request.diesAfter) };
  const onFailed = (userId: string, error: unknown) => {
    throw new Error(`the row of ${userId} has failed`, { cause: error });
  };
  const {
    next,
    stopped = false,
    ...counts
  } = await runBlocks(mortal, { ...range, run: request.run }, shouldContinue, onFailed);
  return { next, stopped, counts };
}

/** The slots of a worker that cannot reach the store any more after so many rows. */
function diesAfter(rowCount = Number.POSITIVE_INFINITY): Deps["awaitRowSlot"] {
  let slots = 0;
  return async () => {
    slots += 1;
    if (slots > rowCount) throw new DomainError("STORE_UNAVAILABLE", "the worker has died");
  };
}

/** The digest of a revision; of the current one, as the end of its validation may have set it. */
async function digestOf(deps: Deps, id: string, revision: number): Promise<string> {
  const [head] = await deps.reader.many([bulkGrantRef(programId, id)]);
  if (head?.revision.number === revision) return head.revision.digest;
  const [found] = await deps.reader.many([bulkRevisionRef(programId, id, revision)]);
  return found?.digest ?? "no digest";
}

async function changeAccount(
  deps: Deps,
  request: Of<"freeze" | "unfreeze" | "grant" | "use">,
): Promise<void> {
  const { userId } = request;
  events += 1;
  const input = {
    programId,
    userId,
    eventId: `e${events}`,
    reason: "",
    caller: asService("shop"),
    deadline: undefined,
  };
  if (request.op === "grant") await grantPoints(deps, { ...input, points: request.points });
  else if (request.op === "use")
    await usePoints(deps, { ...input, points: request.points, allowPartial: false });
  else await accountChanges[request.op as "freeze"](deps, input);
}

/**
 * Shows a bulk grant and its rows, and checks that the other lists have the same rows. What is not
 * seen but decides later answers is shown too: else two orders of concurrent calls look the same
 * now and answer differently later.
 */
export async function show(deps: Deps, id: string, pageSize: number): Promise<Shown> {
  const name = { programId, bulkGrantId: id };
  const { bulkGrant, progress } = await getBulkGrant(deps, name);
  const listed = await allItems((page) => listRows(deps, name, {}, page), pageSize);
  const failed = [];
  for await (const { row, problems } of failedRows(deps, bulkGrant)) {
    failed.push(`${row.line} ${codesOf(problems)}`);
  }
  const expected = listed.flatMap(({ row, problems }) =>
    problems.length > 0 ? [`${row.line} ${codesOf(problems)}`] : [],
  );
  if (String(failed) !== String(expected)) throw new Error(`failed rows: ${failed}, ${expected}`);
  const { grantedCount, grantedPoints, failedCount } = progress;
  return {
    head: headOf(bulkGrant),
    progress: { grantedCount, grantedPoints, failedCount },
    rows: listed.map(({ row, state, problems }) => [
      ...([row.line, row.userId, state] as const),
      ...codesOf(problems),
    ]),
    blocksDone: await blocksDone(deps, bulkGrant),
  };
}

/** The blocks that the validation or the run under way has done. */
async function blocksDone(
  { reader }: Deps,
  { state, run, revision: { uploadId, rowCount } }: BulkGrant,
): Promise<number[]> {
  const blocks = Array.from({ length: Math.ceil(rowCount / rowsPerBlock) }, (_, i) => i);
  if (state === "VALIDATING") {
    const checks = await reader.many(blocks.map((block) => blockCheckRef(uploadId, block)));
    return blocks.filter((block) => checks[block]);
  }
  if (state !== "RUNNING") return [];
  const outcomes = await reader.many(blocks.map((block) => blockOutcomeRef(uploadId, block)));
  return blocks.filter((block) => outcomes[block]?.run === run);
}

const codesOf = (problems: readonly RowProblem[]) => problems.map(({ code }) => code);

function headOf({ revision, checked, approvals, ...row }: BulkGrant): Head {
  const last = row.actions.at(-1);
  return {
    state: row.state,
    revision: revision.number,
    rowCount: revision.rowCount,
    totalPoints: revision.totalPoints,
    requiredApprovalCount: revision.requiredApprovalCount,
    submitter: revision.submitter.subject,
    approvedBy: approvals.map(({ caller }) => caller.subject),
    paused: row.pause !== undefined,
    cancelling: row.cancelRequest !== undefined,
    run: row.run,
    executeTime: revision.executeTime,
    exceededMaxTotalPoints: revision.exceededMaxTotalPoints,
    reverses: revision.reversedBulkGrantId,
    sameContentBulkGrantId: revision.sameContentBulkGrantId,
    invalidCount: checked?.invalidCount,
    alreadyGrantedCount: checked?.alreadyGrantedCount,
    alreadyGrantedPoints: checked?.alreadyGrantedPoints,
    result: row.result,
    lastAction: last && `${last.action} ${last.caller.subject}`,
  };
}
