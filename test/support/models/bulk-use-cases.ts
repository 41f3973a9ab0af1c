/** Sends requests to the use cases of bulk grants, as tests name them, and shows what they keep. */

import { bulkGrantRef, bulkRevisionRef } from "../../../src/bulk-grants/ports/records.ts";
import type { BulkGrant, RunCounts } from "../../../src/bulk-grants/rules/bulk-grant.ts";
import { advanceBulkGrant } from "../../../src/bulk-grants/use-cases/advance.ts";
import {
  approveBulkGrant,
  cancelBulkGrant,
  pauseBulkGrant,
  rejectBulkGrant,
  resumeBulkGrant,
  retryBulkGrant,
} from "../../../src/bulk-grants/use-cases/commands.ts";
import { getBulkGrant, listRows } from "../../../src/bulk-grants/use-cases/queries.ts";
import { reverseBulkGrant } from "../../../src/bulk-grants/use-cases/reverse.ts";
import { finishRun, runBlocks } from "../../../src/bulk-grants/use-cases/run.ts";
import { submitBulkGrant } from "../../../src/bulk-grants/use-cases/submit.ts";
import {
  completeValidation,
  validateBlocks,
} from "../../../src/bulk-grants/use-cases/validate-blocks.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import type { BulkRules } from "../../../src/points/rules/bulk-rules.ts";
import { freezeAccount, unfreezeAccount } from "../../../src/points/use-cases/commands.ts";
import { enforceRules } from "../fixtures/bulk-rules.ts";
import { allItems } from "../fixtures/pages.ts";

/** A row as a message has it. */
export interface Raw {
  readonly userId: string;
  readonly points: number;
  readonly reason: string;
}

interface Named {
  readonly id: string;
}
interface Signed extends Named {
  readonly by: string;
}
interface Submitted extends Signed {
  readonly executeTime: number | undefined;
}
/** A range of blocks; the work stops after `limit` of them. */
interface Blocks extends Named {
  readonly revision: number;
  readonly from: number;
  readonly to: number;
  readonly limit: number;
}

export type Request =
  | (Submitted & {
      readonly op: "submit";
      readonly rows: readonly Raw[];
      /** Set: the revision that this one replaces, even with the same content. */
      readonly replaces?: number | undefined;
    })
  | (Submitted & { readonly op: "reverse"; readonly reverses: string })
  | (Blocks & { readonly op: "validate" })
  | (Blocks & { readonly op: "run"; readonly run: number })
  | (Named & { readonly op: "complete"; readonly revision: number })
  | (Named & { readonly op: "finish"; readonly run: number })
  | (Named & { readonly op: "advance" })
  /** Names the digest of a revision. */
  | (Signed & { readonly op: "approve"; readonly revision: number })
  | (Signed & { readonly op: keyof typeof commands })
  | { readonly op: "freeze" | "unfreeze"; readonly userId: string }
  | { readonly op: "rules"; readonly rules: BulkRules };

/** A record with its revision and its counts side by side. */
type Head = ReturnType<typeof headOf>;

export type Answer =
  | { readonly refused: string }
  /** Submitted: the revision that has the content, and whether it had it before. */
  | { readonly head: Head; readonly revision?: number; readonly replayed?: boolean }
  | { readonly head: Head; readonly step: string }
  | ({ readonly next?: number } & Partial<RunCounts>)
  | { readonly done: true };

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
    case "complete":
      return {
        head: headOf(
          await completeValidation(deps, nameOf(request), request.revision, () => undefined),
        ),
      };
    case "finish":
      return { head: headOf(await finishRun(deps, nameOf(request), request.run, async () => {})) };
    case "advance": {
      const { bulkGrant, step } = await advanceBulkGrant(deps, nameOf(request));
      return { head: headOf(bulkGrant), step };
    }
    case "rules":
      await enforceRules(deps, programId, request.rules);
      return { done: true };
    case "freeze":
    case "unfreeze":
      await setFrozen(deps, request);
      return { done: true };
    default: {
      const change = { ...nameOf(request), ...personOf(request) };
      return { head: headOf(await commands[request.op](deps, change)) };
    }
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
  if (request.op === "validate") return validateBlocks(deps, range, shouldContinue);
  const onFailed = (userId: string, error: unknown) => {
    throw new Error(`the row of ${userId} has failed`, { cause: error });
  };
  return runBlocks(deps, { ...range, run: request.run }, shouldContinue, onFailed);
}

/** The digest of a revision; of the current one, as the end of its validation may have set it. */
async function digestOf(deps: Deps, id: string, revision: number): Promise<string> {
  const [head] = await deps.reader.many([bulkGrantRef(programId, id)]);
  if (head?.revision.number === revision) return head.revision.digest;
  const [found] = await deps.reader.many([bulkRevisionRef(programId, id, revision)]);
  return found?.digest ?? "no digest";
}

async function setFrozen(
  deps: Deps,
  { op, userId }: Extract<Request, { readonly userId: string }>,
): Promise<void> {
  events += 1;
  const event = { programId, userId, eventId: `e${events}`, reason: "" };
  await accountChanges[op](deps, { ...event, caller: asService("shop"), deadline: undefined });
}

/** Shows a bulk grant and its rows: the line, the user, the state, and the codes of problems. */
export async function show(deps: Deps, id: string, pageSize: number) {
  const name = { programId, bulkGrantId: id };
  const { bulkGrant } = await getBulkGrant(deps, name);
  const listed = await allItems((page) => listRows(deps, name, {}, page), pageSize);
  const rows = listed.map(({ row, state, problems }) => {
    return [row.line, row.userId, state, ...problems.map(({ code }) => code)];
  });
  return { head: headOf(bulkGrant), rows };
}

const headOf = ({ revision, checked, ...record }: BulkGrant) => ({
  ...revision,
  ...checked,
  ...record,
  revision: revision.number,
});
