/** Plays random histories of campaigns by name, in memory, and has the audit judge them. */
import { deepStrictEqual, fail, ok, partialDeepStrictEqual, strictEqual } from "node:assert";
import fc from "fast-check";
import { bulkGrantWorkflowId } from "../../../src/bulk-grants/contract/bulk-grants.ts";
import { listActions, listRevisions } from "../../../src/bulk-grants/use-cases/history.ts";
import {
  failedRows,
  getBulkGrant,
  listBulkGrants,
  listRows,
} from "../../../src/bulk-grants/use-cases/queries.ts";
import { startActiveBulkGrants } from "../../../src/bulk-grants/use-cases/reconcile.ts";
import { getSummary } from "../../../src/bulk-grants/use-cases/summarize.ts";
import { writeSheet } from "../../../src/bulk-grants/use-cases/write-sheet.ts";
import { getBalance } from "../../../src/points/use-cases/queries.ts";
import { allItems } from "../fixtures/pages.ts";
import { programId } from "./campaigns-audit.ts";
import { approve, goOn, idOf, perform, picked, send, setFrozen } from "./campaigns-calls.ts";
import { pause } from "./campaigns-links.ts";
import { ends } from "./campaigns-rules.ts";
import { checkedRows, nameOf, type Row, rowsOf } from "./campaigns-sheets.ts";
import {
  type Act,
  type Call,
  type Drop,
  type History,
  history,
  userIds,
} from "./campaigns-templates.ts";
import { createWorld, sourceNames, type World } from "./campaigns-world.ts";
import { summaryOf } from "./summary-oracle.ts";
import { inJumpingTime } from "./virtual-time.ts";

/** All times of a history are in one month, so that no points expire. */
const begin = Date.UTC(2026, 0, 15);

const historiesOf = (calls: number) =>
  fc.asyncProperty(history(14, calls), (each) => inJumpingTime(begin, () => play(each)));

/** Histories of files, workers and people; and those without the calls of people. */
export const campaignHistories = historiesOf(14);
export const fileHistories = historiesOf(0);

async function play({ seed, acts, fates, longAfter, rules }: History): Promise<void> {
  const world = await createWorld(seed, fates, longAfter);
  if (rules) await perform(world, { act: "rules", rules });
  for (const { afterMs, act } of acts) {
    await pause(afterMs);
    await performAct(world, act);
    check(world);
    const name = picked(world, 0);
    if (name !== undefined) await compareShown(world, name);
  }
  await settle(world);
  await compare(world);
}

function check({ audit: { violations } }: World): void {
  if (violations.length > 0) fail(violations.join("\n"));
}

async function performAct(world: World, act: Act | Call): Promise<void> {
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
    case "terminate":
    case "request cancellation":
    case "approve":
    case "reject":
    case "cancel":
    case "pause":
    case "resume":
    case "retry": {
      const name = picked(world, act.pick);
      if (name === undefined) return;
      const id = bulkGrantWorkflowId(programId, name);
      if (act.act === "terminate") return temporal.terminate(id);
      if (act.act === "request cancellation") return temporal.cancel(id);
      return act.act === "approve"
        ? approve(world, name)
        : send(world, name, { op: act.act, by: "ann" });
    }
    default:
      return perform(world, act);
  }
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
  const raws = latest === undefined ? undefined : rowsOf(latest);
  const current = raws && checkedRows(raws, name, Number.POSITIVE_INFINITY);
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
        current.filter(({ codes }) => codes.length === 0),
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
  await goOn(world, name);
  if (!stop) return;
  await pause(stop.afterMs);
  await send(world, name, { op: stop.by, by: "ann" });
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
      const { state = "DONE", result } = audit.latest(name) ?? {};
      const isRetried = state === "DONE_WITH_FAILURES" && !result?.problemCounts.ID_REUSED;
      return isRetried || !ends.includes(state);
    });
    const hasFiles = sourceNames.some((name) => folders[name].files.length > 0);
    if (open.length === 0 && !hasFiles && world.attempts() === 0) return;
    for (const name of open) {
      await send(world, name, { op: "resume", by: "ann" });
      await approve(world, name);
      await send(world, name, { op: "retry", by: "ann" });
    }
    await startActiveBulkGrants(deps, () => undefined);
    if (hasFiles) for (const source of sourceNames) void world.pickUp(source);
    await pause(61_000);
    check(world);
  }
  const states = [...audit.campaigns.keys()].map((name) => [name, audit.latest(name)]);
  fail(`the campaigns do not end: ${JSON.stringify([states, audit.files, world.attempts()])}`);
}

/** Compares what is shown at the end with what the audit has seen. */
async function compare(world: World): Promise<void> {
  const { audit, near, folders } = world;
  check(world);
  for (const userId of userIds) {
    const { availablePoints } = await getBalance(near, { programId, userId });
    strictEqual(availablePoints, audit.pointsOf(userId), `the points of ${userId}`);
  }
  const filter = { programId, state: undefined, start: undefined, end: undefined };
  const listed = await allItems((page) => listBulkGrants(near, filter, page), 2);
  const names = [...audit.campaigns].flatMap(([name, { versions }]) =>
    versions.length > 0 ? [name] : [],
  );
  deepStrictEqual(listed.map(({ bulkGrantId }) => bulkGrantId).sort(), names.sort());
  for (const name of names) {
    const rows = await compareShown(world, name);
    const granted = rows?.filter(({ state }) => state.endsWith("GRANTED"));
    const users = audit.grantedUsers(name);
    if (users)
      deepStrictEqual(
        granted?.map(({ userId }) => userId),
        users,
        `the rows of ${name}`,
      );
    ok(audit.latest(name)?.report !== "SENT" || audit.isReported(name), `the report of ${name}`);
    await compareSummary(world, name);
  }
  deepStrictEqual(folders.inbox.files, []);
  deepStrictEqual(
    audit.files.filter(({ place }) => place === "new"),
    [],
  );
}

/** Compares what people see of a campaign, unless it is changed meanwhile; returns its rows. */
async function compareShown({ audit, near }: World, name: string) {
  const { commits } = audit;
  const { revisions = [], versions = [] } = audit.campaigns.get(name) ?? {};
  if (versions.length === 0) return undefined;
  const { rows, progress, actions } = audit.shown(name);
  const { bulkGrant, progress: shown } = await getBulkGrant(near, idOf(name));
  const size = [1, 4, 1_000][commits % 3];
  const listed = await allItems((page) => listRows(near, idOf(name), {}, page), size);
  const failed: number[] = [];
  for await (const { row } of failedRows(near, bulkGrant)) failed.push(row.line);
  const history = await allItems((page) => listActions(near, idOf(name), page), size);
  const numbers = await allItems((page) => listRevisions(near, idOf(name), page), size);
  if (audit.commits !== commits) return undefined;
  const seen = listed.map(({ row: { line, userId }, state, problems }) => {
    return { line, userId, state, codes: problems.map(({ code }) => code) };
  });
  const { grantedCount, grantedPoints, failedCount } = shown;
  const bad = rows.flatMap(({ codes, line }) => (codes.length > 0 ? [line] : []));
  deepStrictEqual(
    [seen, failed, { grantedCount, grantedPoints, failedCount }, history],
    [rows, bad, progress, actions],
    `what is shown of ${name}`,
  );
  deepStrictEqual(
    numbers.map(({ uploadId }) => uploadId),
    revisions.map(({ record }) => record.uploadId),
  );
  return rows;
}

/** Compares the summary of a validated revision with one of all of its rows. */
async function compareSummary({ audit, near }: World, name: string): Promise<void> {
  const { revisions = [] } = audit.campaigns.get(name) ?? {};
  const [before, revision] = [revisions.at(-2), revisions.at(-1)];
  if (revision?.isValid === undefined) return;
  const right = (rows: readonly Row[]) =>
    rows.flatMap(({ points, codes, ...row }) =>
      codes.length > 0 ? [] : [{ ...row, points: Number(points) }],
    );
  const { summary } = await getSummary(near, idOf(name), 0);
  const expected = summaryOf(right(revision.rows), before && right(before.rows));
  partialDeepStrictEqual(summary, expected, `the summary of ${name}`);
}
