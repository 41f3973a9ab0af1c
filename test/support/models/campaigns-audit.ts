/**
 * What campaigns have to do by the text of the design: it hears of every file, every opened sheet
 * and every transaction in the order of the store, and notes what breaks the rules. It knows the
 * rules from the documents only, and calls none of the code under test.
 */
import { ApplicationFailure, CancelledFailure } from "@temporalio/common";
import { parse } from "csv-parse/sync";
import type { PickUpResult } from "../../../src/contract/sheet-sources.ts";
import type { BulkGrant } from "../../../src/domain/bulk-grant.ts";
import type { EventKey } from "../../../src/domain/ledger.ts";
import type { SheetRow } from "../../../src/domain/sheet.ts";
import type { Write } from "../../../src/store/engine/item-store.ts";
import type { FolderFile } from "./campaigns-folder.ts";

export const programId = "p";

/** A row is sent at most so long after its attempt could read that the run goes on. */
const leaseMs = 2_000;

/** Nothing of an attempt is written so long after it could last read that its run goes on. */
const lateMs = leaseMs + 8_000;

/** A row as people see it; bad when it cannot be granted as it is written. */
export interface Row {
  readonly userId: string;
  readonly points: string;
  readonly reason: string;
  readonly isBad: boolean;
}

interface Revision {
  readonly rows: readonly Row[];
  readonly key: string;
  readonly submittedAt: number;
  /** Whether all rows were found right; absent before that. */
  isValid?: boolean;
}

interface Grant {
  readonly points: string;
  readonly at: number;
}

/** A run that is over. */
interface Ended {
  readonly at: number;
  readonly isCancelled: boolean;
  readonly rows: readonly Row[];
}

interface Campaign {
  /** The record after each change. */
  readonly versions: { readonly at: number; readonly record: BulkGrant }[];
  readonly revisions: Revision[];
  readonly granted: Map<string, Grant>;
  readonly approvals: { readonly revision: number; readonly by: string }[];
  cancelledAt: number | undefined;
  ended: Ended | undefined;
  /** The rows that may still be granted in a pause: those of the blocks under way. */
  leftInPause: number;
}

/** A run of a workflow; one that was continued as new has a later start. */
interface Run {
  readonly id: string;
  readonly startTime: Date;
}

/** A file that people have dropped, and where it is. */
interface DroppedFile {
  readonly source: string;
  readonly path: string;
  readonly version: string;
  readonly text: string;
  place: "new" | "done" | "failed" | "replaced";
}

type State = BulkGrant["state"];

/** The states after each state, of one revision. */
const following: Readonly<Record<State, readonly State[]>> = {
  VALIDATING: ["INVALID", "AWAITING_APPROVAL", "CANCELLED"],
  INVALID: [],
  AWAITING_APPROVAL: ["APPROVED", "REJECTED", "CANCELLED"],
  REJECTED: [],
  APPROVED: ["RUNNING", "CANCELLED"],
  RUNNING: ["DONE", "DONE_WITH_FAILURES", "CANCELLED"],
  DONE: [],
  DONE_WITH_FAILURES: ["RUNNING"],
  CANCELLED: [],
};
const replaceable: readonly State[] = ["INVALID", "REJECTED", "CANCELLED", "DONE_WITH_FAILURES"];
const ends: readonly State[] = [...replaceable, "DONE"];

/** The rows of a block in these histories. */
export const rowsOfBlock = 3;

export class Audit {
  readonly violations: string[] = [];
  readonly campaigns = new Map<string, Campaign>();
  readonly files: DroppedFile[] = [];
  /** The attempts at rows that are under way. */
  attempts = 0;
  readonly #stored = new Map<string, Row[]>();
  readonly #opened: { readonly run: string; readonly at: number; readonly file: DroppedFile }[] =
    [];
  /** By user, when the account was frozen and unfrozen, in turns. */
  readonly #frozen = new Map<string, number[]>();

  #wrong(text: string): void {
    this.violations.push(`${Date.now() % 1e8}: ${text}`);
  }

  latest(name: string): BulkGrant | undefined {
    return this.campaigns.get(name)?.versions.at(-1)?.record;
  }

  #campaign(name: string): Campaign {
    const campaign = this.campaigns.get(name) ?? {
      versions: [],
      revisions: [],
      granted: new Map(),
      approvals: [],
      cancelledAt: undefined,
      ended: undefined,
      leftInPause: 0,
    };
    this.campaigns.set(name, campaign);
    return campaign;
  }

  // Files.

  dropped(source: string, { path, version, text }: FolderFile, before?: FolderFile): void {
    if (before?.version === version) return;
    for (const file of this.files) {
      const isReplaced = file.source === source && file.path === path && file.place === "new";
      if (isReplaced) file.place = "replaced";
    }
    this.files.push({ source, path, version, text, place: "new" });
  }

  #fileOf(source: string, { path, version }: FolderFile): DroppedFile | undefined {
    return this.files.findLast(
      (file) => file.source === source && file.path === path && file.version === version,
    );
  }

  opened(run = "", source: string, opened: FolderFile): void {
    const file = this.#fileOf(source, opened);
    if (file) this.#opened.push({ run, at: Date.now(), file });
  }

  /** A file was moved: the state of its campaign since it was opened has to explain it. */
  moved(run: Run | undefined, source: string, moved: FolderFile, to: "done" | "failed"): void {
    const file = this.#fileOf(source, moved);
    if (file?.place !== "new") {
      this.#wrong(`${moved.path} was moved twice`);
      return;
    }
    file.place = to;
    const { id = "", startTime = new Date(0) } = run ?? {};
    // A file that was dropped again while the pick-up had read the first one is the same to it.
    const opened = this.#opened.find((each) => each.run === id && isSame(each.file, file));
    if (!opened) this.#wrong(`${moved.path} was moved by ${id}, which did not read it`);
    const expected = this.#places(file, opened?.at ?? 0, startTime.getTime());
    if (!expected.has(to)) {
      const name = nameOf(file);
      const { state, revision } = this.latest(name) ?? {};
      const of = `${name} is ${state} with revision ${revision?.number}`;
      this.#wrong(`${moved.path} was moved to ${to}, and not to ${[...expected]}; ${of}`);
    }
  }

  /** The places to which a file may be moved that was opened then, by a pick-up. */
  #places(file: DroppedFile, openedAt: number, began: number): Set<string> {
    const places = new Set<string>();
    const name = nameOf(file);
    const rows = rowsOf(file.text, name);
    const campaign = this.campaigns.get(name);
    if (!rows) return places.add("failed");
    const number = 1 + (campaign?.revisions.findIndex(({ key }) => key === keyOf(rows)) ?? -1);
    const revision = campaign?.revisions[number - 1];
    if (revision?.isValid === false) return places.add("failed");
    if (revision && revision.submittedAt >= openedAt) places.add("done");
    for (const record of this.#since(campaign, openedAt)) {
      const { state, endTime = began } = record;
      const has = number > 0 && number <= record.revision.number;
      if (!has) {
        if (!replaceable.includes(state)) places.add("failed");
      } else if (number < record.revision.number) places.add("failed");
      else if (ends.includes(state) && endTime < began) places.add("failed");
      else places.add("done");
    }
    return places;
  }

  /** The record as it was then and after each change since. */
  #since(campaign: Campaign | undefined, at: number): BulkGrant[] {
    const { versions = [] } = campaign ?? {};
    const first = versions.findLastIndex((version) => version.at < at);
    return versions.slice(Math.max(first, 0)).map(({ record }) => record);
  }

  /** A pick-up has ended: whoever reads its result hears why a file has failed. */
  pickedUp(run: string, result: unknown): void {
    const { failed, left } = result as PickUpResult;
    for (const { source, reason, message } of failed) {
      if (!message) this.#wrong(`${run} does not say why ${source} has failed`);
      const file = this.files.find(
        (each) => source === `${each.source}/${each.path}#${each.version}`,
      );
      const isReadable = file && rowsOf(file.text, nameOf(file));
      // A file that is gone, or has changed, has not failed.
      if (isReadable && reason === "INVALID_REQUEST") this.#wrong(`${run} cannot read ${source}`);
    }
    if (left.length > 0) this.#wrong(`${run} has left files and is complete`);
  }

  ended(run: string, error: unknown): void {
    const isIncomplete = error instanceof ApplicationFailure && error.type === "PICK_UP_INCOMPLETE";
    if (isIncomplete || error instanceof CancelledFailure) return;
    this.#wrong(`${run} has failed: ${(error as Error)?.stack}`);
  }

  // Transactions.

  /** Rows that are stored before their revision exists. */
  stored(uploadId: string, rows: readonly SheetRow[]): void {
    const all = this.#stored.get(uploadId) ?? [];
    for (const { userId, points, rawPoints = String(points), reason, problems } of rows)
      all.push({ userId, points: rawPoints, reason, isBad: problems !== undefined });
    this.#stored.set(uploadId, all);
  }

  approved(name: string, revision: number, by: string): void {
    this.#campaign(name).approvals.push({ revision, by });
  }

  committed(writes: readonly Write[]): void {
    for (const { ref, op, value } of writes) {
      if (op !== "put") continue;
      const [, userId = ""] = ref.id.split("#");
      if (ref.kind === "bulkGrant") this.#changed(value as BulkGrant);
      if (ref.kind === "account") {
        const times = this.#frozen.get(userId) ?? [];
        const isFrozen = (value as { readonly frozen: boolean }).frozen;
        if (isFrozen === (times.length % 2 === 0)) times.push(Date.now());
        this.#frozen.set(userId, times);
      }
    }
    for (const row of rowsIn(writes)) this.#granted(row);
  }

  /** A transaction is sent for the first time, which its process has just decided. */
  sent(writes: readonly Write[]): void {
    for (const { name, userId } of rowsIn(writes)) {
      const { cancelledAt = Number.POSITIVE_INFINITY } = this.#campaign(name);
      const ms = Date.now() - cancelledAt;
      if (ms > leaseMs) this.#wrong(`${name} sends ${userId} ${ms} ms after its cancellation`);
    }
  }

  #granted({ name, userId, points }: GrantedRow): void {
    const campaign = this.#campaign(name);
    const before = campaign.granted.get(userId);
    const now = Date.now();
    const text = `${name} has granted ${points} points to ${userId}`;
    if (before) this.#wrong(`${text} again`);
    campaign.granted.set(userId, { points, at: now });
    const { ended, revisions, cancelledAt = now } = campaign;
    const isRow = (rows: readonly Row[] = []) =>
      rows.some((row) => row.userId === userId && row.points === points && !row.isBad);
    const isLate = ended && !ended.isCancelled && now - ended.at <= lateMs && isRow(ended.rows);
    if (isLate) return;
    const { state, pause } = this.latest(name) ?? {};
    if (state !== "RUNNING") this.#wrong(`${text} while it is ${state}`);
    else if (!isRow(revisions.at(-1)?.rows)) this.#wrong(`${text}, which is no row`);
    if (now - cancelledAt > lateMs) this.#wrong(`${text} ${now - cancelledAt} ms after its cancel`);
    if (pause) campaign.leftInPause -= 1;
    if (pause && campaign.leftInPause < 0) this.#wrong(`${text} in a pause`);
  }

  #changed(record: BulkGrant): void {
    const campaign = this.#campaign(record.bulkGrantId);
    const before = campaign.versions.at(-1)?.record;
    campaign.versions.push({ at: Date.now(), record });
    if (before?.revision.number !== record.revision.number)
      this.#submitted(campaign, record, before);
    else if (before.state !== record.state) this.#moved(campaign, record, before);
    if (!record.cancelRequest) campaign.cancelledAt = undefined;
    else campaign.cancelledAt ??= Date.now();
    // An attempt ends its block, and one more if it was about to begin that.
    if (record.pause && !before?.pause) campaign.leftInPause = this.attempts * 2 * rowsOfBlock;
  }

  #submitted({ revisions }: Campaign, record: BulkGrant, before: BulkGrant | undefined): void {
    const { bulkGrantId: name, revision, state } = record;
    const text = `revision ${revision.number} of ${name}`;
    if (state !== "VALIDATING") this.#wrong(`${text} is ${state} at once`);
    if (revision.number !== revisions.length + 1) this.#wrong(`${text} after ${revisions.length}`);
    if (before && !replaceable.includes(before.state)) this.#wrong(`${text} after ${before.state}`);
    const rows = this.#stored.get(revision.uploadId) ?? [];
    const key = keyOf(rows);
    if (revisions.some((each) => each.key === key)) this.#wrong(`${text} has an earlier content`);
    const isOpened = this.#opened.some(({ file }) => {
      const opened = nameOf(file) === name ? rowsOf(file.text, name) : undefined;
      return opened && keyOf(opened) === key;
    });
    if (!isOpened) this.#wrong(`${text} is the content of no file of ${name}: ${key}`);
    const total = rows.reduce((sum, row) => sum + (row.isBad ? 0 : Number(row.points)), 0);
    if (revision.rowCount !== rows.length || revision.totalPoints !== total)
      this.#wrong(`${text} has ${revision.rowCount} rows, ${revision.totalPoints} points`);
    revisions.push({ rows, key, submittedAt: Date.now() });
  }

  #moved(campaign: Campaign, record: BulkGrant, before: BulkGrant): void {
    const { bulkGrantId: name, state } = record;
    if (!following[before.state].includes(state))
      this.#wrong(`${name} was ${before.state} and is ${state}`);
    if (before.state === "VALIDATING" && state !== "CANCELLED") this.#validated(campaign, record);
    if (state === "APPROVED") {
      const isApproved = campaign.approvals.some(
        ({ revision, by }) =>
          revision === record.revision.number && by !== record.revision.submitter.subject,
      );
      if (!isApproved) this.#wrong(`${name} is APPROVED by nobody`);
    }
    if (state === "RUNNING" && (before.pause || record.run !== before.run + 1))
      this.#wrong(`run ${record.run} of ${name} has begun after ${before.run}, or in a pause`);
    if (before.state === "RUNNING") this.#ended(campaign, record, before);
  }

  /** The times at which the account of a user was frozen, as pairs of begin and end. */
  #isFrozen(userId: string, from: number, to: number): { ever: boolean; always: boolean } {
    const times = this.#frozen.get(userId) ?? [];
    let [ever, always] = [false, false];
    for (let i = 0; i < times.length; i += 2) {
      const [begin = 0, end = Number.POSITIVE_INFINITY] = times.slice(i, i + 2);
      ever ||= begin <= to && end >= from;
      always ||= begin <= from && end >= to;
    }
    return { ever, always };
  }

  #validated(campaign: Campaign, { bulkGrantId: name, state, checked }: BulkGrant): void {
    const revision = campaign.revisions.at(-1) as Revision;
    const { granted } = campaign;
    const [from, to] = [revision.submittedAt, Date.now()];
    let [certain, possible] = [0, 0];
    let [already, mayAlready] = [0, 0];
    for (const { userId, points, isBad } of revision.rows) {
      const grant = isBad ? undefined : granted.get(userId);
      const isSame = grant?.points === points;
      const { ever, always } = this.#isFrozen(userId, from, to);
      const isBefore = grant !== undefined && grant.at < from;
      if (isBad || (isBefore && !isSame) || (!grant && always)) certain += 1;
      if (isBad || (grant && !isSame) || (!(isBefore && isSame) && ever)) possible += 1;
      if (isBefore && isSame) already += 1;
      if (grant && isSame) mayAlready += 1;
    }
    revision.isValid = state !== "INVALID";
    if (revision.isValid ? certain > 0 : possible === 0)
      this.#wrong(`${name} is ${state} with ${certain} to ${possible} wrong rows`);
    const { invalidCount = -1, alreadyGrantedCount = -1 } = checked ?? {};
    if (invalidCount < certain || invalidCount > possible)
      this.#wrong(`${name} has ${invalidCount} wrong rows, not ${certain} to ${possible}`);
    if (alreadyGrantedCount < already || alreadyGrantedCount > mayAlready)
      this.#wrong(`${name} has granted ${alreadyGrantedCount} rows, not ${already}`);
  }

  /** The rows of a revision that the campaign has granted. */
  #grantedOf({ granted }: Campaign, rows: readonly Row[]): Row[] {
    return rows.filter(
      ({ userId, points, isBad }) => !isBad && granted.get(userId)?.points === points,
    );
  }

  /** The end of a run: what it has counted is what the ledgers have. */
  #ended(campaign: Campaign, record: BulkGrant, before: BulkGrant): void {
    const { bulkGrantId: name, state, result, checked } = record;
    const { rows } = campaign.revisions.at(-1) as Revision;
    const isCancelled = before.cancelRequest !== undefined;
    const now = Date.now();
    campaign.ended = { at: now, isCancelled, rows };
    const granted = this.#grantedOf(campaign, rows);
    const counted = (result?.grantedCount ?? 0) + (checked?.alreadyGrantedCount ?? 0);
    const points = (result?.grantedPoints ?? 0) + (checked?.alreadyGrantedPoints ?? 0);
    const text = `${name} is ${state} and has counted ${counted} of ${granted.length} granted rows`;
    // What was granted after the end of a run that was not cancelled had read the event keys.
    const late =
      isCancelled || state === "DONE"
        ? []
        : granted.filter(({ userId }) => {
            const { at = 0 } = campaign.granted.get(userId) ?? {};
            return now - at < lateMs;
          });
    if (counted > granted.length || counted < granted.length - late.length) this.#wrong(text);
    const sum = granted.reduce((total, row) => total + Number(row.points), 0);
    if (counted === granted.length && points !== sum)
      this.#wrong(`${text} with ${points} points, not ${sum}`);
    const { failedCount = -1, notRunCount = -1 } = result ?? {};
    if (counted + failedCount + notRunCount !== rows.length)
      this.#wrong(`${text}, ${failedCount} failed and ${notRunCount} not run of ${rows.length}`);
    if (notRunCount > 0 && !isCancelled) this.#wrong(`${text} and has lost ${notRunCount} rows`);
    const expected =
      notRunCount > 0 ? "CANCELLED" : failedCount > 0 ? "DONE_WITH_FAILURES" : "DONE";
    if (state !== expected) this.#wrong(`${text}, which is ${expected}`);
    this.#checkFailed(campaign, text, failedCount);
  }

  /** Rows fail for a reason. */
  #checkFailed({ revisions, granted }: Campaign, text: string, count: number): void {
    const { rows, submittedAt } = revisions.at(-1) as Revision;
    const mayFail = rows.filter(({ userId, points }) => {
      const grant = granted.get(userId);
      if (grant) return grant.points !== points || Date.now() - grant.at < lateMs;
      return this.#isFrozen(userId, submittedAt, Date.now()).ever;
    });
    if (count > mayFail.length) this.#wrong(`${text}, and ${count} failed for no reason`);
  }

  /** The points of a user in all campaigns. */
  pointsOf(userId: string): number {
    let points = 0;
    for (const { granted } of this.campaigns.values())
      points += Number(granted.get(userId)?.points ?? 0);
    return points;
  }

  /** Which rows of the current revision are granted, and whether all of them were checked. */
  rowsOf(name: string) {
    const campaign = this.#campaign(name);
    const { rows = [], isValid } = campaign.revisions.at(-1) ?? {};
    const granted = new Set(this.#grantedOf(campaign, rows));
    const all = rows.map((row) => ({ userId: row.userId, isGranted: granted.has(row) }));
    return { rows: all, isChecked: isValid !== undefined };
  }
}

interface GrantedRow {
  readonly name: string;
  readonly userId: string;
  readonly points: string;
}

/** The rows of campaigns that a transaction grants. */
function rowsIn(writes: readonly Write[]): GrantedRow[] {
  return writes.flatMap(({ ref, op, value }) => {
    const [, userId = "", event = ""] = ref.id.split("#");
    if (op !== "put" || ref.kind !== "event" || !event.startsWith("b:")) return [];
    const name = event.slice("b:".length, -`_${userId}`.length);
    return { name, userId, points: String((value as EventKey).entry.points) };
  });
}

/** The campaign of a file: that of its column, or of its name, or of its name and content. */
export function nameOf({ source, path, version, text }: Omit<DroppedFile, "place">): string {
  const named = cellsOf(text)?.[0]?.bulk_grant_id?.trim();
  const name = path.replace(/\.csv$/, "");
  return named || (source === "night" ? `${name}-${version}` : name);
}

type Cells = Readonly<Record<string, string | undefined>>;

/** The rows of a sheet; undefined for one that cannot be read. */
function cellsOf(text: string): Cells[] | undefined {
  const rows: Cells[] = parse(text, { bom: true, columns: true, relax_column_count: true });
  return rows[0] && "user_id" in rows[0] ? rows : undefined;
}

export function rowsOf(text: string, name: string): Row[] | undefined {
  const users = new Set<string>();
  return cellsOf(text)?.map(({ user_id = "", points = "", reason = "", bulk_grant_id = "" }) => {
    const isOther = bulk_grant_id !== "" && bulk_grant_id !== name;
    const isBad = users.has(user_id) || !/^[1-9]\d*$/.test(points) || isOther;
    users.add(user_id);
    return { userId: user_id, points, reason, isBad };
  });
}

const keyOf = (rows: readonly Row[]): string =>
  JSON.stringify(rows.map(({ userId, points, reason, isBad }) => [userId, points, reason, isBad]));

/** Whether two files of one name have the same content. */
const isSame = (one: DroppedFile, other: DroppedFile): boolean =>
  one.source === other.source && one.path === other.path && one.version === other.version;
