/** Plays random histories of campaigns by name, in memory, and has the audit judge them. */
import { deepStrictEqual, fail, strictEqual } from "node:assert";
import fc from "fast-check";
import {
  approveBulkGrant,
  cancelBulkGrant,
  pauseBulkGrant,
  rejectBulkGrant,
  resumeBulkGrant,
  retryBulkGrant,
} from "../../../src/app/bulk-grants/commands.ts";
import { failedRows, getBulkGrant, listRows } from "../../../src/app/bulk-grants/queries.ts";
import { startActiveBulkGrants } from "../../../src/app/bulk-grants/reconcile.ts";
import { writeSheet } from "../../../src/app/bulk-grants/write-sheet.ts";
import { freezeAccount, unfreezeAccount } from "../../../src/app/points/commands.ts";
import { getBalance } from "../../../src/app/points/queries.ts";
import { bulkGrantWorkflowId } from "../../../src/contract/bulk-grants.ts";
import type { BulkGrantState } from "../../../src/domain/bulk-grant.ts";
import { asService } from "../../../src/domain/caller.ts";
import { DomainError } from "../../../src/domain/errors.ts";
import { allItems } from "../fixtures/pages.ts";
import { patiently } from "../fixtures/waiting.ts";
import { nameOf, programId, rowsOf } from "./campaigns-audit.ts";
import { pause } from "./campaigns-links.ts";
import { type Act, type Drop, type History, history, userIds } from "./campaigns-templates.ts";
import { createWorld, sourceNames, type World } from "./campaigns-world.ts";
import { inJumpingTime } from "./virtual-time.ts";

/** All times of a history are in one month, so that no points expire. */
const begin = Date.UTC(2026, 0, 15);

export const campaignHistories = fc.asyncProperty(history(14), (each) =>
  inJumpingTime(begin, () => play(each)),
);

async function play({ seed, acts, fates, longAfter }: History): Promise<void> {
  const world = await createWorld(seed, fates, longAfter);
  for (const { afterMs, act } of acts) {
    await pause(afterMs);
    await perform(world, act);
    check(world);
  }
  await settle(world);
  await compare(world);
}

function check({ audit: { violations } }: World): void {
  if (violations.length > 0) fail(violations.join("\n"));
}

/** Lets a person's call be refused, as it may be in any state. */
async function orRefused(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
  }
}

const commands = {
  reject: rejectBulkGrant,
  cancel: cancelBulkGrant,
  pause: pauseBulkGrant,
  resume: resumeBulkGrant,
  retry: retryBulkGrant,
};

async function perform(world: World, act: Act): Promise<void> {
  const { temporal, deps, folders } = world;
  switch (act.act) {
    case "drop":
      await drop(world, act.drop);
      return;
    case "pick up":
      void world.pickUp(act.source);
      return;
    case "lock":
      folders[act.source].lockedUntil = Date.now() + act.ms;
      return;
    case "start":
      return startCampaign(world, act);
    case "freeze":
    case "unfreeze":
      return setFrozen(world, act.userId, act.act === "freeze");
    case "reconcile":
      await startActiveBulkGrants(deps, () => undefined);
      return;
    default: {
      const names = [...world.audit.campaigns.keys()].reverse();
      const name = names[act.pick % Math.max(names.length, 1)];
      if (name === undefined) return;
      const id = bulkGrantWorkflowId(programId, name);
      if (act.act === "terminate") return temporal.terminate(id);
      if (act.act === "request cancellation") return temporal.cancel(id);
      if (act.act === "approve") return approve(world, name);
      return change(world, name, act.act);
    }
  }
}

const change = ({ deps }: World, name: string, command: keyof typeof commands): Promise<void> =>
  orRefused(commands[command](deps, { ...idOf(name), caller: asService("ann"), reason: "" }));

const idOf = (bulkGrantId: string) => ({ programId, bulkGrantId });

async function approve({ audit, deps }: World, name: string): Promise<void> {
  const record = audit.latest(name);
  if (!record) return;
  const { number, digest } = record.revision;
  audit.approved(name, number, "ben");
  const approval = { ...idOf(name), caller: asService("ben"), reason: "", digest };
  await orRefused(approveBulkGrant(deps, approval));
}

let events = 0;

/** Sends the call again while the store gives no answer, or an account could stay frozen. */
async function setFrozen({ deps }: World, userId: string, isFrozen: boolean): Promise<void> {
  events += 1;
  const input = {
    programId,
    userId,
    eventId: `e${events}`,
    reason: "",
    caller: asService("shop"),
    deadline: undefined,
  };
  const command = isFrozen ? freezeAccount : unfreezeAccount;
  await orRefused(patiently(() => command(deps, input)));
}

/** Drops a file, and returns the name of its campaign. */
async function drop({ audit, folders, deps }: World, what: Drop): Promise<string> {
  const folder = folders[what.source];
  const path = `${what.name}.csv`;
  const files = audit.files.filter((each) => each.source === what.source && each.path === path);
  const [first, latest] = [files[0], files.at(-1)];
  const name = what.column ?? (latest ? nameOf(latest) : what.name);
  const text =
    what.content === "first" && first ? first.text : await textOf(what, name, latest?.text, deps);
  const before = folder.drop(path, text);
  const dropped = folder.files.find((file) => file.path === path);
  if (!dropped) throw new Error("the folder keeps what is dropped");
  audit.dropped(what.source, dropped, before);
  return nameOf({ ...dropped, source: what.source });
}

async function textOf(
  { content, column, rows }: Drop,
  name: string,
  latest: string | undefined,
  deps: World["deps"],
): Promise<string> {
  const current = (latest !== undefined && rowsOf(latest, name)) || undefined;
  if (content === "broken") return `user,points\n${name},1\n`;
  if (content === "new" || !current) return sheetOf(rows, column);
  if (content === "export") return (await exported(deps, name)) ?? sheetOf(rows, column);
  if (content === "same") return latest ?? "";
  const [extra] = rows;
  switch (content) {
    case "first":
      return latest ?? "";
    case "corrected":
      return sheetOf(
        current.filter(({ isBad }) => !isBad),
        column,
      );
    case "more":
      return sheetOf(extra ? [...current, extra] : current, column);
    case "changed":
      return sheetOf(
        current.map((row, i) => (i === 0 ? { ...row, points: "45" } : row)),
        column,
      );
  }
}

function sheetOf(
  rows: readonly { readonly userId: string; readonly points: string }[],
  column: string | undefined,
): string {
  const header = column === undefined ? "user_id,points" : "user_id,points,bulk_grant_id";
  const end = column === undefined ? "" : `,${column}`;
  return [header, ...rows.map(({ userId, points }) => `${userId},${points}${end}`), ""].join("\n");
}

/** The exported sheet of a campaign's rows that were not granted; undefined when there is none. */
async function exported(deps: World["deps"], name: string): Promise<string | undefined> {
  const found = await getBulkGrant(deps, idOf(name)).catch(() => undefined);
  if (!found) return undefined;
  const { bulkGrant } = found;
  const pieces: string[] = [];
  for await (const piece of writeSheet(failedRows(deps, bulkGrant), bulkGrant)) pieces.push(piece);
  return pieces.length > 1 ? pieces.join("") : undefined;
}

type Of<Name extends Act["act"]> = Extract<Act, { readonly act: Name }>;

async function startCampaign(world: World, { drop: what, stop }: Of<"start">): Promise<void> {
  const name = await drop(world, what);
  await Promise.race([world.pickUp(what.source), pause(30_000)]);
  await comesTo(world, name, "AWAITING_APPROVAL");
  await approve(world, name);
  await comesTo(world, name, "RUNNING");
  if (!stop) return;
  await pause(stop.afterMs);
  await change(world, name, stop.by);
}

/** Waits for a state, for a while. */
async function comesTo({ audit }: World, name: string, state: BulkGrantState): Promise<void> {
  for (let i = 0; i < 100 && audit.latest(name)?.state !== state; i++) await pause(20);
}

/**
 * How often the world is helped on, every minute, until all campaigns have ended. An attempt whose
 * reads are too slow for its lease goes on for an hour, until its start-to-close timeout.
 */
const rounds = 240;

/** Removes what holds campaigns up, until all of them and all files have come to their ends. */
async function settle(world: World): Promise<void> {
  const { audit, deps, folders } = world;
  for (const userId of userIds) await setFrozen(world, userId, false);
  for (let round = 0; round < rounds; round++) {
    const names = [...audit.campaigns.keys()];
    const open = names.filter((name) => {
      const { state, result } = audit.latest(name) ?? {};
      const isRetried = state === "DONE_WITH_FAILURES" && !result?.problemCounts.ID_REUSED;
      return state && (isRetried || !ended.has(state));
    });
    const hasFiles = sourceNames.some((name) => folders[name].files.length > 0);
    if (open.length === 0 && !hasFiles && world.attempts() === 0) return;
    for (const name of open) {
      await change(world, name, "resume");
      await approve(world, name);
      await change(world, name, "retry");
    }
    await startActiveBulkGrants(deps, () => undefined);
    if (hasFiles) for (const source of sourceNames) void world.pickUp(source);
    await pause(61_000);
    check(world);
  }
  const states = [...audit.campaigns.keys()].map((name) => [name, audit.latest(name)]);
  fail(`the campaigns do not end: ${JSON.stringify([states, audit.files, world.attempts()])}`);
}

const ended: ReadonlySet<BulkGrantState> = new Set([
  "INVALID",
  "REJECTED",
  "DONE",
  "DONE_WITH_FAILURES",
  "CANCELLED",
]);

/** Compares what is shown at the end with what the audit has seen. */
async function compare(world: World): Promise<void> {
  const { audit, deps, folders } = world;
  check(world);
  for (const userId of userIds) {
    const { availablePoints } = await getBalance(deps, { programId, userId });
    strictEqual(availablePoints, audit.pointsOf(userId), `the points of ${userId}`);
  }
  for (const name of audit.campaigns.keys()) {
    const listed = await allItems((page) => listRows(deps, idOf(name), {}, page), 4);
    const shown = listed.map(({ row, state }) => ({
      userId: row.userId,
      isGranted: state === "GRANTED" || state === "ALREADY_GRANTED",
    }));
    const { rows, isChecked } = audit.rowsOf(name);
    // A check that a cancel has ended has found out about some blocks only.
    const expected = rows.map((row, i) =>
      isChecked ? row : { ...row, isGranted: row.isGranted && shown[i]?.isGranted },
    );
    deepStrictEqual(shown, expected, `the rows of ${name}`);
    const count = (wanted: string) => listed.filter(({ state }) => state === wanted).length;
    const { result } = audit.latest(name) ?? {};
    if (result) {
      deepStrictEqual(
        [result.grantedCount, result.failedCount, result.notRunCount],
        [count("GRANTED"), count("FAILED"), count("NOT_RUN")],
        `the counts of ${name}`,
      );
    }
  }
  deepStrictEqual(folders.inbox.files, []);
  deepStrictEqual(
    audit.files.filter(({ place }) => place === "new"),
    [],
  );
}
