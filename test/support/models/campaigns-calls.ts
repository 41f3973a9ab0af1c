/** The calls of people in the campaigns; the audit judges each answer. */

import type { BulkGrant } from "../../../src/bulk-grants/rules/bulk-grant.ts";
import {
  approveBulkGrant,
  cancelBulkGrant,
  pauseBulkGrant,
  rejectBulkGrant,
  resumeBulkGrant,
  retryBulkGrant,
} from "../../../src/bulk-grants/use-cases/commands.ts";
import { requestGrant } from "../../../src/bulk-grants/use-cases/request.ts";
import { reverseBulkGrant } from "../../../src/bulk-grants/use-cases/reverse.ts";
import { submitBulkGrant } from "../../../src/bulk-grants/use-cases/submit.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import {
  freezeAccount,
  grantPoints,
  unfreezeAccount,
  usePoints,
} from "../../../src/points/use-cases/commands.ts";
import { enforceRules } from "../fixtures/bulk-rules.ts";
import { patiently } from "../fixtures/waiting.ts";
import { type Answer, programId } from "./campaigns-audit.ts";
import { pause } from "./campaigns-links.ts";
import type { Command } from "./campaigns-rules.ts";
import type { RawRow } from "./campaigns-sheets.ts";
import type { Call } from "./campaigns-templates.ts";
import { sourceNames, type World } from "./campaigns-world.ts";

export const idOf = (bulkGrantId: string) => ({ programId, bulkGrantId });

/** Returns the refusal as the answer, as a call may be refused in any state. */
const answerOf = <T>(call: Promise<T>): Promise<Answer<T>> =>
  call.catch((error: unknown) => {
    if (error instanceof DomainError) return error;
    throw error;
  });

const commands = {
  reject: rejectBulkGrant,
  cancel: cancelBulkGrant,
  pause: pauseBulkGrant,
  resume: resumeBulkGrant,
  retry: retryBulkGrant,
};

export async function send({ audit, deps }: World, name: string, command: Command): Promise<void> {
  const { op, by, digest = "" } = command;
  const judge = audit.asked(name, command);
  const change = { ...idOf(name), caller: asService(by), reason: "" };
  if (op === "approve") judge(await answerOf(approveBulkGrant(deps, { ...change, digest })));
  else if (op !== "expire") judge(await answerOf(commands[op](deps, change)));
}

/** Approves the current revision as often as it needs. */
export async function approve(world: World, name: string): Promise<void> {
  const { revision, raisedApprovalCount: raised = 0 } = world.audit.latest(name) ?? {};
  if (!revision) return;
  const { digest, requiredApprovalCount } = revision;
  const count = Math.max(raised, requiredApprovalCount, 1);
  for (const by of ["ben", "dan", "eve"].filter((each) => each !== revision.submitter.subject))
    if (count >= 1 + ["ben", "dan", "eve"].indexOf(by))
      await send(world, name, { op: "approve", by, digest });
}

let events = 0;

const eventOf = (userId: string) => {
  events += 1;
  const caller = asService("shop");
  return { programId, userId, eventId: `e${events}`, reason: "", caller, deadline: undefined };
};

/** Sends the call again while the store gives no answer, or an account could stay frozen. */
export async function setFrozen({ deps }: World, userId: string, isFrozen: boolean): Promise<void> {
  const event = eventOf(userId);
  const command = isFrozen ? freezeAccount : unfreezeAccount;
  await answerOf(patiently(() => command(deps, event)));
}

/** The name of the campaign that was changed last, or of an earlier one. */
export function picked({ audit }: World, pick: number): string | undefined {
  const names = [...audit.campaigns.keys()].reverse();
  return names[pick % Math.max(names.length, 1)];
}

export async function perform(world: World, call: Call): Promise<void> {
  const { deps, audit } = world;
  switch (call.act) {
    case "submit":
      return submit(world, call);
    case "reverse":
      return reverse(world, call);
    case "ask":
      return ask(world, call);
    case "command": {
      const name = picked(world, call.pick) ?? "none";
      const { op, by } = call;
      const revisions = audit.campaigns.get(name)?.revisions ?? [];
      const current = audit.latest(name)?.revision.digest;
      const other = revisions.length > 1 ? revisions[0]?.record.digest : "none";
      const digest = call.digest === "current" ? current : other;
      return send(world, name, { op, by, ...(op === "approve" && { digest }) });
    }
    case "points": {
      const event = { ...eventOf(call.userId), points: call.points };
      if (call.op === "grant") await answerOf(grantPoints(deps, event));
      else await answerOf(usePoints(deps, { ...event, allowPartial: true }));
      return;
    }
    case "rules":
      return enforceRules(world.near, programId, { ...call.rules, sources: sourceNames });
    case "wait":
      return pause(call.ms);
  }
}

type Of<Name extends Call["act"]> = Extract<Call, { readonly act: Name }>;

async function submit(world: World, call: Of<"submit">): Promise<void> {
  const { audit, deps } = world;
  const { name, by, replaces, executeIn } = call;
  const { record: current } = audit.campaigns.get(name)?.revisions.at(-1) ?? {};
  const isSame = call.content === "same" || call.content === "first";
  const executeTime = isSame ? current?.executeTime : after(executeIn);
  const raws = rowsOfCall(world, call);
  const replacedRevision = replaces === undefined ? undefined : (current?.number ?? 0) - replaces;
  const judge = audit.offered({ name, by, raws, executeTime, replaces: replacedRevision });
  const submission = { ...idOf(name), submitter: asService(by), executeTime, replacedRevision };
  judge(await answerOf(submitBulkGrant(deps, submission, { rows: stream(raws) })));
  if (call.goesOn) await goOn(world, name);
}

const after = (ms: number | undefined) => (ms === undefined ? undefined : Date.now() + ms);

async function* stream(raws: readonly RawRow[]) {
  for (const { userId, points, reason } of raws) yield { userId, points: Number(points), reason };
}

/** The rows that a call sends: new ones, or those of the campaign with a change. */
function rowsOfCall({ audit }: World, { name, content, rows, reason }: Of<"submit">): RawRow[] {
  const fresh = rows.map((row) => ({ ...row, points: String(row.points), reason }));
  const { revisions = [] } = audit.campaigns.get(name) ?? {};
  const current = revisions.at(-1)?.rows;
  if (!current) return fresh;
  switch (content) {
    case "new":
      return fresh;
    case "same":
      return [...current];
    case "first":
      return [...(revisions[0]?.rows ?? [])];
    case "corrected":
      return current.filter(({ codes }) => codes.length === 0);
    case "rest": {
      const { rows } = audit.shown(name);
      return current.filter((_, i) =>
        ["FAILED", "NOT_RUN", "INVALID"].includes(rows[i]?.state ?? ""),
      );
    }
    case "more":
      return [...current, ...fresh.slice(0, 1)];
    case "changed":
      return current.map((row, i) => (i === 0 ? { ...row, points: "11" } : row));
  }
}

async function ask(world: World, call: Of<"ask">): Promise<void> {
  const { audit, deps } = world;
  const { name, by, userId, points, reason, goesOn } = call;
  const raws = [{ userId, points: String(points), reason }];
  const judge = audit.offered({ name, by, raws, asks: true });
  const request = { ...idOf(name), submitter: asService(by), userId, points, reason };
  judge(await answerOf(requestGrant(deps, request)));
  if (goesOn) await goOn(world, name);
}

async function reverse(world: World, { name, by, pick, goesOn }: Of<"reverse">): Promise<void> {
  const { audit, deps } = world;
  const latest = picked(world, pick) ?? "none";
  const { reversedBulkGrantId: reversed } = audit.latest(latest)?.revision ?? {};
  const reverses = name === "undo-again" && reversed ? reversed : latest;
  const judge = audit.offered({ name, by, reverses });
  const submission = { ...idOf(name), submitter: asService(by), reversedBulkGrantId: reverses };
  judge(await answerOf(reverseBulkGrant(deps, submission)));
  if (goesOn) await goOn(world, name);
}

/** Approves a campaign as soon as it is validated, and waits until it runs. */
export async function goOn(world: World, name: string): Promise<void> {
  await comesTo(world, name, "AWAITING_APPROVAL");
  await approve(world, name);
  await comesTo(world, name, "RUNNING");
}

/** Waits for a state, for a while. */
async function comesTo({ audit }: World, name: string, state: BulkGrant["state"]): Promise<void> {
  for (let i = 0; i < 100 && audit.latest(name)?.state !== state; i++) await pause(20);
}
