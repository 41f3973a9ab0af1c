/**
 * Checks campaigns against the text of the design: it gets every file, every opened sheet, every
 * call and every transaction in the order of the store, and notes what breaks the rules. It knows
 * the rules from the documents only, and calls none of the code under test.
 */
import { isDeepStrictEqual } from "node:util";
import { ApplicationFailure, CancelledFailure } from "@temporalio/common";
import type { PickUpResult } from "../../../src/bulk-grants/contract/sheet-sources.ts";
import type {
  BlockCheck,
  BlockOutcome,
  BulkGrantReport,
} from "../../../src/bulk-grants/ports/bulk-grants.ts";
import type { Action, BulkGrant } from "../../../src/bulk-grants/rules/bulk-grant.ts";
import type { BulkGrantSummary } from "../../../src/bulk-grants/rules/bulk-grant-summary.ts";
import type { SheetRow } from "../../../src/bulk-grants/rules/sheet.ts";
import type { Write } from "../../../src/platform/engine/item-store.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import type { EventKey } from "../../../src/points/rules/ledger.ts";
import type { RuleChange } from "../../../src/points/rules/rule-changes.ts";
import type { FolderFile } from "./campaigns-folder.ts";
import {
  afterCommand,
  type Command,
  ends,
  type Head,
  headOf,
  replaceable,
  Tiers,
} from "./campaigns-rules.ts";
import {
  checkedRows,
  keyOf,
  nameOf,
  type RawRow,
  type Row,
  rowsOf,
  type SheetFile,
  totalOf,
} from "./campaigns-sheets.ts";

export const programId = "p";

/** A row is sent at most so long after its attempt could read that the run goes on. */
const leaseMs = 2_000;

/** Nothing of an attempt is written so long after it could last read that its run goes on. */
const lateMs = leaseMs + 8_000;

interface Revision {
  readonly name: string;
  readonly record: BulkGrant["revision"];
  readonly rows: readonly Row[];
  readonly key: string;
  readonly submittedAt: number;
  /** What the validation and the runs have found, by block. */
  readonly checks: Map<number, BlockCheck>;
  readonly outcomes: Map<number, BlockOutcome>;
  /** Whether all rows were found right; absent before that. */
  isValid?: boolean;
}

/** What a row has granted, or taken in a reversal. */
interface Grant {
  readonly points: number;
  readonly reason: string;
  readonly at: number;
  /** What a reversal has taken of it. */
  reversed: number;
}

/** A run that is over. */
interface Ended {
  readonly at: number;
  readonly isCancelled: boolean;
  readonly revision: Revision;
}

interface Campaign {
  /** The record after each change. */
  readonly versions: { readonly at: number; readonly record: BulkGrant }[];
  readonly revisions: Revision[];
  readonly actions: Action[];
  readonly granted: Map<string, Grant>;
  /** The points that the runs of the revisions before have counted. */
  grantedBefore: number;
  cancelledAt: number | undefined;
  ended: Ended | undefined;
  /** The rows that may still be granted in a pause: those of the blocks under way. */
  leftInPause: number;
}

/** Content that a person or a file has for a campaign. */
interface Offer {
  readonly name: string;
  readonly by: string;
  /** Its rows; undefined for a reversal, and for a file that cannot be read. */
  readonly raws?: readonly RawRow[] | undefined;
  readonly reverses?: string | undefined;
  /** Whether it requests its only row for one user, without a sheet. */
  readonly asks?: true | undefined;
  readonly executeTime?: number | undefined;
  /** Set: the revision that it replaces, even with the same content. */
  readonly replaces?: number | undefined;
}

/** The answer to a person's call. */
export type Answer<T> = T | DomainError;

/** A run of a workflow; one that was continued as new has a later start. */
interface Run {
  readonly id: string;
  readonly startTime: Date;
}

/** A file that people have dropped, and where it is. */
type DroppedFile = SheetFile & { place: "new" | "done" | "failed" | "replaced" };

/** The rows of a block in these histories. */
export const rowsOfBlock = 3;

export class Audit {
  readonly violations: string[] = [];
  readonly campaigns = new Map<string, Campaign>();
  readonly files: DroppedFile[] = [];
  /** The attempts at rows that are under way. */
  attempts = 0;
  /** The transactions so far. */
  commits = 0;
  readonly #tiers = new Tiers();
  /** The caps on the points of a row, with the times from which on they held. */
  readonly #caps: { readonly at: number; readonly cap: number }[] = [];
  readonly #stored = new Map<string, SheetRow[]>();
  readonly #uploads = new Map<string, Revision>();
  readonly #opened: { readonly run: string; readonly at: number; readonly file: DroppedFile }[] =
    [];
  readonly #offers: (Offer & { readonly at: number })[] = [];
  readonly #commands: (Command & { readonly name: string })[] = [];
  readonly #events = new Set<string>();
  readonly #balances = new Map<string, number>();
  /** By user, when the account was frozen and unfrozen, in turns. */
  readonly #frozen = new Map<string, number[]>();
  readonly #reports = new Set<string>();
  /** What each digest names, and the other way round. */
  readonly #digests = new Map<string, string>();

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
      actions: [],
      granted: new Map(),
      grantedBefore: 0,
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
    if (!file) return;
    const at = Date.now();
    this.#opened.push({ run, at, file });
    this.#offers.push({ name: nameOf(file), by: source, raws: rowsOf(file.text), at });
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
    const name = nameOf(file);
    const raws = rowsOf(file.text);
    if (!raws) return new Set(["failed"]);
    const offer = { name, by: file.source, raws, at: openedAt };
    return new Set(this.#keys(offer).flatMap((key) => this.#placesOf(name, key, openedAt, began)));
  }

  #placesOf(name: string, key: string, openedAt: number, began: number): string[] {
    const campaign = this.campaigns.get(name);
    const { revisions = [] } = campaign ?? {};
    const isNew = revisions.some((each) => each.key === key && each.submittedAt >= openedAt);
    const places = isNew ? ["done"] : [];
    for (const { state, endTime = began, revision } of this.#since(campaign, openedAt)) {
      const numbers = revisions.flatMap((each, i) => (each.key === key ? [i + 1] : []));
      const known = numbers.filter((number) => number <= revision.number);
      for (const number of known) {
        const isOver = number < revision.number || (ends.includes(state) && endTime < began);
        places.push(isOver ? "failed" : "done");
      }
      const isOther = revision.reversedBulkGrantId !== undefined || revision.request !== undefined;
      const isRefused = !replaceable.includes(state) || isOther;
      if (known.length === 0 && isRefused) places.push("failed");
    }
    // The same content may have become a next revision on purpose, with other accounts unfrozen.
    const validities = revisions.flatMap((each) => (each.key === key ? [each.isValid] : []));
    if (!validities.includes(false)) return places;
    return validities.every((isValid) => isValid === false) ? ["failed"] : [...places, "failed"];
  }

  /** The record as it was then and after each change since. */
  #since(campaign: Campaign | undefined, at: number): BulkGrant[] {
    const { versions = [] } = campaign ?? {};
    const first = versions.findLastIndex((version) => version.at < at);
    return versions.slice(Math.max(first, 0)).map(({ record }) => record);
  }

  /** A pick-up has ended: its result says why a file has failed. */
  pickedUp(run: string, result: unknown): void {
    const { failed, left } = result as PickUpResult;
    for (const { source, reason, message } of failed) {
      if (!message) this.#wrong(`${run} does not say why ${source} has failed`);
      const file = this.files.find(
        (each) => source === `${each.source}/${each.path}#${each.version}`,
      );
      const isReadable = file && rowsOf(file.text);
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

  // People's calls.

  /** A person calls; the returned function judges the answer. */
  asked(name: string, command: Command): (answer: Answer<BulkGrant>) => void {
    this.#commands.push({ ...command, name });
    const began = Date.now();
    return (answer) => {
      if (answer instanceof DomainError && answer.retryable) return;
      const of = `${command.by} has sent ${command.op} of ${name}`;
      const versions = this.#since(this.campaigns.get(name), began);
      const results = versions.flatMap((record) =>
        [began, Date.now()].map((now) => afterCommand(record, command, now, 0)),
      );
      if (answer instanceof DomainError) {
        const reasons = versions.length > 0 ? results : ["BULK_GRANT_NOT_FOUND"];
        if (!reasons.includes(answer.reason)) this.#wrong(`${of}, refused: ${answer.message}`);
        return;
      }
      const isVersion = versions.some((record) => isDeepStrictEqual(record, answer));
      const { action, caller } = answer.actions.at(-1) as Action;
      const isDone = caller.subject === command.by && action.toLowerCase() === command.op;
      const head = headOf(answer);
      const isExplained = isDone || results.some((result) => isDeepStrictEqual(result, head));
      if (!isVersion || !isExplained) this.#wrong(`${of}, answered ${JSON.stringify(head)}`);
    };
  }

  /** A person submits content; the returned function judges the answer. */
  offered(
    offer: Offer,
  ): (answer: Answer<{ bulkGrant: BulkGrant; revision: number; replayed: boolean }>) => void {
    const at = Date.now();
    const sent = { ...offer, at };
    this.#offers.push(sent);
    return (answer) => {
      if (answer instanceof DomainError && answer.retryable) return;
      const of = `${offer.by} has submitted ${offer.name}`;
      const campaign = this.campaigns.get(offer.name);
      const versions = this.#since(campaign, at);
      if (answer instanceof DomainError) {
        const found = versions.length > 0 ? versions : [undefined];
        const reasons = found.map((record) => this.#refusalOf(record, sent));
        if (![...reasons, ...this.#refusalsOf(sent)].includes(answer.reason))
          this.#wrong(`${of}, refused: ${answer.reason} ${answer.message}`);
        return;
      }
      const { bulkGrant, revision, replayed } = answer;
      const known = campaign?.revisions[revision - 1];
      const isOf = offer.reverses !== undefined || this.#keys(sent).includes(known?.key ?? "");
      if (!isOf || !versions.some((record) => isDeepStrictEqual(record, bulkGrant)))
        this.#wrong(`${of}, answered as revision ${revision}`);
      if (!replayed && (known?.submittedAt ?? 0) < at) this.#wrong(`${of}, answered as new`);
    };
  }

  /** Why a record refuses a submission. */
  #refusalOf(record: BulkGrant | undefined, offer: Offer & { at: number }): string | undefined {
    const { number = 0 } = record?.revision ?? {};
    const { revisions } = this.#campaign(offer.name);
    const keys = this.#keys(offer);
    const isNext = offer.replaces === number;
    if (!isNext && revisions.slice(0, number).some(({ key }) => keys.includes(key)))
      return undefined;
    if (offer.replaces !== undefined && !isNext) return "WRONG_STATE";
    if (!record) return undefined;
    if (record.revision.reversedBulkGrantId !== offer.reverses) return "ID_REUSED";
    if (record.revision.request || offer.asks) return "ID_REUSED";
    return replaceable.includes(record.state) ? undefined : "WRONG_STATE";
  }

  /** Why the content itself may be refused. */
  #refusalsOf({ raws = [], reverses, asks, at }: Offer & { readonly at: number }): string[] {
    if (asks)
      return this.#isAboveCap(Number(raws[0]?.points), at, "some") ? ["LIMIT_EXCEEDED"] : [];
    if (reverses === undefined) return raws.length === 0 ? ["INVALID_REQUEST"] : [];
    const versions = this.#since(this.campaigns.get(reverses), at);
    if (versions.length === 0) return ["BULK_GRANT_NOT_FOUND"];
    if (versions.some(({ revision }) => revision.reversedBulkGrantId)) return ["INVALID_REQUEST"];
    const isOpen = versions.some(({ state }) => !ends.includes(state));
    return isOpen || this.#campaign(reverses).granted.size === 0 ? ["WRONG_STATE"] : [];
  }

  /** The keys that content may have had since it was sent, by the caps on its rows. */
  #keys({
    name,
    raws,
    reverses,
    asks,
    executeTime,
    at,
  }: Offer & { readonly at: number }): string[] {
    if (reverses !== undefined) return [keyOf(this.#grantedBy(reverses), executeTime, reverses)];
    if (asks)
      return [keyOf(checkedRows(raws ?? [], name, Infinity), executeTime, reverses, "asked")];
    const caps = this.#capsSince(at);
    return caps.map(({ cap }) => keyOf(checkedRows(raws ?? [], name, cap), executeTime, reverses));
  }

  #capsSince(at: number) {
    return this.#caps.filter(({ at: from }, i) => {
      const until = this.#caps[i + 1]?.at ?? Number.POSITIVE_INFINITY;
      return from <= Date.now() && until >= at - lateMs;
    });
  }

  /** Whether a request is above some or every cap of a row that was in force since. */
  #isAboveCap(points: number, at: number, which: "some" | "every"): boolean {
    return this.#capsSince(at)[which](({ cap }) => points > cap);
  }

  /** The rows that a campaign has granted in all its revisions. */
  #grantedBy(name: string): Row[] {
    const { revisions, granted } = this.#campaign(name);
    const rows = revisions.flatMap((revision) => revision.rows);
    const users = new Set(rows.flatMap(({ userId, codes }) => (codes.length > 0 ? [] : [userId])));
    return [...users].flatMap((userId) => {
      const { points, reason } = granted.get(userId) ?? {};
      return points === undefined
        ? []
        : [{ userId, points: String(points), reason: reason ?? "", codes: [] }];
    });
  }

  /** People have got a report: of a record that was stored, once, and not too early. */
  reported({ kind, bulkGrant }: BulkGrantReport): void {
    const { bulkGrantId: name, revision, run, state } = bulkGrant;
    const report = `${kind} of ${name}, ${revision.number}, ${kind === "OUTCOME" ? run : ""}`;
    if (this.#reports.has(report)) this.#wrong(`${report} was sent twice`);
    this.#reports.add(report);
    const { versions } = this.#campaign(name);
    if (!versions.some(({ record }) => isDeepStrictEqual(record, bulkGrant)))
      this.#wrong(`${report} has no record`);
    const isWait = ["REMINDER", "WAITING", "RAISED"].includes(kind);
    if (isWait && state !== "AWAITING_APPROVAL") this.#wrong(`${report} while it is ${state}`);
    if (kind === "OUTCOME" && !ends.includes(state)) this.#wrong(`${report} while it is ${state}`);
    if (kind === "REMINDER" && Date.now() < bulkGrant.remindTime) this.#wrong(`${report} is early`);
  }

  // Transactions.

  /** Rows that are stored before their revision exists. */
  stored(uploadId: string, rows: readonly SheetRow[]): void {
    this.#stored.set(uploadId, [...(this.#stored.get(uploadId) ?? []), ...rows]);
  }

  committed(writes: readonly Write[]): void {
    this.commits += 1;
    for (const { ref, op, value } of writes) {
      if (op !== "put") continue;
      const [first = "", second = ""] = ref.id.split("#");
      if (ref.kind === "bulkGrant") this.#changed(value as BulkGrant);
      if (ref.kind === "blockCheck") this.#checked(first, Number(second), value as BlockCheck);
      if (ref.kind === "blockOutcome")
        this.#uploads.get(first)?.outcomes.set(Number(second), value as BlockOutcome);
      if (ref.kind === "bulkSummary") this.#summarized(ref.id, value as BulkGrantSummary);
      if (ref.kind === "event") this.#recorded(ref.id, value as EventKey);
      if (ref.kind === "ruleChange") {
        this.#tiers.rules = (value as RuleChange).to.bulkRules;
        this.#caps.push({ at: Date.now(), cap: this.#tiers.rules.maxPointsPerRow });
      }
    }
    for (const { ref, op, value } of writes) {
      if (op !== "put" || ref.kind !== "account") continue;
      const [, userId = ""] = ref.id.split("#");
      const times = this.#frozen.get(userId) ?? [];
      const isFrozen = (value as { readonly frozen: boolean }).frozen;
      if (isFrozen === (times.length % 2 === 0)) times.push(Date.now());
      this.#frozen.set(userId, times);
    }
  }

  /** A transaction is sent for the first time, which its process has just decided. */
  sent(writes: readonly Write[]): void {
    for (const { ref, op } of writes) {
      const row = op === "put" && ref.kind === "event" ? rowIn(ref.id) : undefined;
      if (!row || this.#events.has(ref.id)) continue;
      const { cancelledAt = Number.POSITIVE_INFINITY } = this.#campaign(row.name);
      const ms = Date.now() - cancelledAt;
      if (ms > leaseMs)
        this.#wrong(`${row.name} sends ${row.userId} ${ms} ms after its cancellation`);
    }
  }

  /** An entry of a ledger; what is reversed of an entry changes its event key once more. */
  #recorded(id: string, { entry }: EventKey): void {
    if (this.#events.has(id)) return;
    this.#events.add(id);
    const [, userId = ""] = id.split("#");
    const { type, points, reason } = entry;
    const before = this.#balances.get(userId) ?? 0;
    const sign = type === "ISSUED" ? 1 : ["USED", "REVOKED"].includes(type) ? -1 : 0;
    this.#balances.set(userId, before + sign * points);
    if (entry.availablePoints !== before + sign * points)
      this.#wrong(`${userId} has ${entry.availablePoints} points after ${before} and ${points}`);
    const row = rowIn(id);
    if (!row) return;
    const campaign = this.#campaign(row.name);
    const grant = { points, reason, at: Date.now(), reversed: 0 };
    const isNew = !campaign.granted.has(userId);
    campaign.granted.set(userId, grant);
    const text = `${row.name} has granted ${points} points to ${userId}`;
    if (!isNew) this.#wrong(`${text} again`);
    this.#granted(campaign, row.name, userId, grant, text);
    const reverses = campaign.revisions.at(-1)?.record.reversedBulkGrantId;
    if (reverses !== undefined) this.#reversed(reverses, userId, grant, before, text);
    else if (type !== "ISSUED" || this.#isFrozen(userId, Date.now(), Date.now()).always)
      this.#wrong(`${text} as ${type}, or to a frozen account`);
  }

  /** A reversal takes what is left of the grant and of the account. */
  #reversed(name: string, userId: string, taken: Grant, balance: number, text: string): void {
    const grant = this.#campaign(name).granted.get(userId);
    const left = Math.min((grant?.points ?? 0) - (grant?.reversed ?? 0), balance);
    if (!grant || taken.points !== left) this.#wrong(`${text}, of ${left} that are left`);
    if (grant) grant.reversed += taken.points;
  }

  #granted(campaign: Campaign, name: string, userId: string, grant: Grant, text: string): void {
    const now = Date.now();
    const { ended, revisions, cancelledAt = now } = campaign;
    const isRow = (revision: Revision | undefined) =>
      revision?.rows.some((row) => row.userId === userId && isRowOf(revision, row, grant));
    const isLate = ended && !ended.isCancelled && now - ended.at <= lateMs && isRow(ended.revision);
    if (isLate) return;
    const { state, pause } = this.latest(name) ?? {};
    if (state !== "RUNNING") this.#wrong(`${text} while it is ${state}`);
    else if (!isRow(revisions.at(-1))) this.#wrong(`${text}, which is no row`);
    if (now - cancelledAt > lateMs) this.#wrong(`${text} ${now - cancelledAt} ms after its cancel`);
    if (pause) campaign.leftInPause -= 1;
    if (pause && campaign.leftInPause < 0) this.#wrong(`${text} in a pause`);
  }

  #changed(record: BulkGrant): void {
    const { bulkGrantId: name, state } = record;
    const campaign = this.#campaign(name);
    const before = campaign.versions.at(-1)?.record;
    campaign.versions.push({ at: Date.now(), record });
    const isNew = before?.revision.number !== record.revision.number;
    const expected = isNew
      ? this.#submitted(campaign, record, before)
      : this.#following(campaign, record, before);
    const head = headOf(record);
    if (!isDeepStrictEqual(head, expected))
      this.#wrong(`${name} is ${JSON.stringify(head)}, and not ${JSON.stringify(expected)}`);
    if (["INVALID", "REJECTED", "CANCELLED"].includes(state) && record.startTime === undefined)
      this.#tiers.uncount(name);
    if (!record.cancelRequest) campaign.cancelledAt = undefined;
    else campaign.cancelledAt ??= Date.now();
    // An attempt ends its block, and one more if it was about to begin that.
    if (record.pause && !before?.pause) campaign.leftInPause = this.attempts * 2 * rowsOfBlock;
    this.#named(record);
  }

  /** A digest names one revision with the approvals that it needs, and the other way round. */
  #named({ bulkGrantId, revision }: BulkGrant): void {
    const { key } = this.#campaign(bulkGrantId).revisions.at(-1) as Revision;
    const { number, requiredApprovalCount } = revision;
    const meaning = JSON.stringify([bulkGrantId, number, key, requiredApprovalCount]);
    for (const [one, other] of [
      [revision.digest, meaning],
      [meaning, revision.digest],
    ] as const) {
      if ((this.#digests.get(one) ?? other) !== other) this.#wrong(`${one} names ${other}, too`);
      this.#digests.set(one, other);
    }
  }

  /** Returns what a next revision has to be. */
  #submitted(campaign: Campaign, record: BulkGrant, before: BulkGrant | undefined): Head {
    const { bulkGrantId: name, revision } = record;
    const { revisions, actions } = campaign;
    const { executeTime, reversedBulkGrantId: reverses, submitTime: now } = revision;
    const text = `revision ${revision.number} of ${name}`;
    const current = before?.revision.number ?? 0;
    if (revision.number !== current + 1) this.#wrong(`${text} after ${current}`);
    if (before && !replaceable.includes(before.state)) this.#wrong(`${text} after ${before.state}`);
    if (before && before.revision.reversedBulkGrantId !== reverses)
      this.#wrong(`${text} is of another kind`);
    const rows = (this.#stored.get(revision.uploadId) ?? []).map(asRow);
    const { request } = revision;
    const key = keyOf(rows, executeTime, reverses, ...(request ? ["asked"] : []));
    if (before?.revision.request || (before && request)) this.#wrong(`${text} replaces a request`);
    if (request && this.#isAboveCap(totalOf(rows), now, "every"))
      this.#wrong(`${text} requests too much`);
    const isEarlier = revisions.some((each) => each.key === key);
    const isOffered = this.#offers.some(
      (offer) =>
        offer.name === name &&
        offer.by === revision.submitter.subject &&
        (offer.replaces === undefined ? !isEarlier : offer.replaces === current) &&
        (reverses === undefined ? this.#keys(offer).includes(key) : offer.reverses === reverses),
    );
    if (!isOffered) this.#wrong(`${text} is the content of nothing that was sent: ${key}`);
    if (reverses !== undefined) this.#checkReversal(text, reverses, rows);
    const total = totalOf(rows);
    if (revision.rowCount !== rows.length || revision.totalPoints !== total)
      this.#wrong(`${text} has ${revision.rowCount} rows, ${revision.totalPoints} points`);
    const same = reverses === undefined ? this.#firstWith(rows) : undefined;
    if (revision.sameContentBulkGrantId !== (same === name ? undefined : same))
      this.#wrong(`${text} has the rows of ${same}`);
    const submitted = { name, record: revision, rows, key, submittedAt: Date.now() };
    revisions.push({ ...submitted, checks: new Map(), outcomes: new Map() });
    this.#uploads.set(revision.uploadId, revisions.at(-1) as Revision);
    actions.push(record.actions.at(-1) as Action);
    const granted = before?.result?.grantedPoints ?? 0;
    campaign.grantedBefore += granted;
    this.#tiers.replace(name, granted);
    const required =
      reverses === undefined && campaign.grantedBefore === 0
        ? this.#tiers.neededBeside(name, total, now)
        : this.#tiers.neededFor(total);
    if (reverses === undefined) this.#tiers.count(name, required, total, now);
    const { maxTotalPoints } = this.#tiers.rules;
    const exceeded = reverses === undefined && total > maxTotalPoints ? maxTotalPoints : undefined;
    return {
      ...{ state: "VALIDATING", revision: current + 1, required, raised: undefined, exceeded },
      ...{ approvedBy: [], isPaused: false, isCancelling: false, run: before?.run ?? 0 },
      submitter: (actions.at(-1) as Action).caller.subject,
    };
  }

  /** The campaign that had these rows first. */
  #firstWith(rows: readonly Row[]): string | undefined {
    const all = [...this.#uploads.values()].filter(
      ({ record }) => record.reversedBulkGrantId === undefined,
    );
    return all.find((each) => keyOf(each.rows) === keyOf(rows))?.name;
  }

  /** A reversal has the rows that were granted, but for late ones. */
  #checkReversal(text: string, reverses: string, rows: readonly Row[]): void {
    const { granted } = this.#campaign(reverses);
    const isIn = new Set(rows.map(({ userId }) => userId));
    const all = this.#grantedBy(reverses);
    const isLost = all.some(
      ({ userId }) => !isIn.has(userId) && Date.now() - (granted.get(userId)?.at ?? 0) > lateMs,
    );
    const expected = all.filter(({ userId }) => isIn.has(userId));
    if (isLost || keyOf(rows) !== keyOf(expected)) this.#wrong(`${text} has ${keyOf(rows)}`);
  }

  /** Returns what follows from the record before, by a person's change or by itself. */
  #following(campaign: Campaign, record: BulkGrant, before: BulkGrant): Head | string {
    const { bulkGrantId: name, state, updateTime, actionCount } = record;
    const from = `${before.state} to ${state}`;
    if (actionCount !== before.actionCount) {
      const action = record.actions.at(-1) as Action;
      campaign.actions.push(action);
      return this.#acted(campaign, action, before);
    }
    if (before.state === "VALIDATING" && state !== before.state)
      return this.#validated(campaign, record, before);
    if (from === "RUNNING to RUNNING" || before.state !== "RUNNING") {
      const isDue = updateTime >= (before.revision.executeTime ?? 0) && !before.pause;
      const isStart = from === "APPROVED to RUNNING" && isDue;
      return { ...headOf(before), ...(isStart && { state, run: before.run + 1 }) };
    }
    this.#ended(campaign, record, before);
    const { failedCount = 0, notRunCount = 0 } = record.result ?? {};
    const done = failedCount > 0 ? "DONE_WITH_FAILURES" : "DONE";
    if (notRunCount > 0 && !before.cancelRequest)
      this.#wrong(`${name} has lost ${notRunCount} rows`);
    const end = notRunCount > 0 ? "CANCELLED" : done;
    return { ...headOf(before), state: end, isPaused: false, isCancelling: false };
  }

  /** Returns what a person's change makes of a record, which somebody must have sent. */
  #acted({ grantedBefore }: Campaign, { action, caller, time }: Action, before: BulkGrant) {
    const op = action.toLowerCase() as Command["op"];
    const { bulkGrantId: name, checked, revision } = before;
    const sent = { op, by: caller.subject };
    const isSent = this.#commands.some(
      (each) => each.name === name && each.op === op && each.by === sent.by,
    );
    // Temporal's own requests to cancel come from nobody.
    if (!isSent && op !== "expire" && op !== "cancel") this.#wrong(`${name}: nobody sent ${op}`);
    const already = checked?.alreadyGrantedPoints ?? 0;
    const isReversal = revision.reversedBulkGrantId !== undefined;
    const leftOut = isReversal ? 0 : Math.max(grantedBefore - already, 0);
    return afterCommand(before, sent, time, this.#tiers.neededFor(revision.totalPoints + leftOut));
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

  /** What the validation finds in a block is what it may have seen since the submission. */
  #checked(uploadId: string, block: number, check: BlockCheck): void {
    const revision = this.#uploads.get(uploadId);
    if (!revision) return;
    if (revision.checks.has(block))
      this.#wrong(`block ${block} of ${revision.name} is checked again`);
    revision.checks.set(block, check);
    const { granted } = this.#campaign(revision.name);
    let points = 0;
    for (const [index, row] of rowsIn(revision, block).entries()) {
      const isAlready = check.alreadyGranted.includes(index);
      if (isAlready) points += granted.get(row.userId)?.points ?? 0;
      const found = isAlready ? ["ALREADY_GRANTED"] : codesOf(check.problems, index);
      const { must, may } = this.#findings(revision, row);
      const isIn = (codes: readonly string[]) => (code: string) => codes.includes(code);
      if (!must.every(isIn(found)) || !found.every(isIn(may)))
        this.#wrong(`${revision.name} has found ${found} of ${row.userId}, not ${must} or ${may}`);
    }
    if (points !== check.alreadyGrantedPoints) this.#wrong(`${revision.name} has found ${points}`);
  }

  /** What a validation must have found of a row, and what it may have found. */
  #findings({ name, record, submittedAt: from }: Revision, row: Row) {
    const { userId, codes } = row;
    const [points, isReversal] = [Number(row.points), record.reversedBulkGrantId !== undefined];
    if (codes.includes("USER_MISSING") || codes.includes("USER_MALFORMED"))
      return { must: codes, may: codes };
    const grant = this.#campaign(name).granted.get(userId);
    const isBefore = grant !== undefined && grant.at < from;
    const isSame = grant !== undefined && (isReversal || grant.points === points);
    const { ever, always } = this.#isFrozen(userId, from, Date.now());
    const [must, may] = [[...codes], [...codes]];
    const add = (code: string, mayBe: boolean, mustBe: boolean) => {
      if (mayBe) may.push(code);
      if (mayBe && mustBe) must.push(code);
    };
    const isRight = codes.length === 0;
    // More points than any grant may have are kept as text, which is not compared.
    const isNumber = Number.isInteger(points) && points >= 1 && points <= 10 ** 9;
    add("ALREADY_GRANTED", isRight && isSame, isBefore);
    add("ID_REUSED", grant !== undefined && !isSame && isNumber, isBefore);
    add("ACCOUNT_FROZEN", ever && !isReversal && !(isBefore && isSame), always && !isSame);
    return { must, may };
  }

  /** A summary warns of the rows of 0 points, by their lines. */
  #summarized(id: string, { warnings = [] }: BulkGrantSummary): void {
    const [, name = "", number] = id.split("#");
    const revision = this.#campaign(name).revisions[Number(number) - 1];
    const lines = revision ? zeroLines(revision) : [];
    const found = warnings.find(({ code }) => code === "POINTS_ZERO") ?? { rowCount: 0, lines: [] };
    if (found.rowCount !== lines.length || !isDeepStrictEqual(found.lines, lines.slice(0, 5)))
      this.#wrong(`${name} is warned of the lines ${found.lines}, not ${lines}`);
  }

  /** Returns what the end of a validation has to be: what its checks have counted. */
  #validated(campaign: Campaign, record: BulkGrant, before: BulkGrant): Head {
    const revision = campaign.revisions.at(-1) as Revision;
    const { bulkGrantId: name, updateTime: now, state } = record;
    const { checks, rows } = revision;
    if (checks.size < Math.ceil(rows.length / rowsOfBlock)) this.#wrong(`${name} is not checked`);
    revision.isValid = state !== "INVALID";
    let [invalidCount, alreadyGrantedCount, alreadyGrantedPoints] = [0, 0, 0];
    for (const check of checks.values()) {
      invalidCount += new Set(check.problems.map(({ index }) => index)).size;
      alreadyGrantedCount += check.alreadyGranted.length;
      alreadyGrantedPoints += check.alreadyGrantedPoints;
    }
    const counts = { invalidCount, alreadyGrantedCount, alreadyGrantedPoints };
    if (!isDeepStrictEqual(record.checked, counts))
      this.#wrong(`${name} has counted ${JSON.stringify([record.checked, counts])}`);
    const head = headOf(before);
    const isReversal = revision.record.reversedBulkGrantId !== undefined;
    const total = totalOf(rows);
    const leftOut = isReversal ? 0 : Math.max(campaign.grantedBefore - alreadyGrantedPoints, 0);
    const points = isReversal ? 0 : total - alreadyGrantedPoints;
    const required = Math.max(
      head.required,
      this.#tiers.neededFor(total + leftOut),
      points > 0 ? this.#tiers.neededBeside(name, points, now) : 0,
    );
    if (!isReversal) this.#tiers.count(name, required, points, now);
    const { maxTotalPoints } = this.#tiers.rules;
    const isOver = leftOut > 0 && total + leftOut > maxTotalPoints;
    const exceeded = head.exceeded ?? (isOver ? maxTotalPoints : undefined);
    const good = required === 0 ? "APPROVED" : "AWAITING_APPROVAL";
    const refused = this.#tiers.rules.refusedWarnings.filter(
      (code) => code === "POINTS_ZERO" && zeroLines(revision).length > 0,
    );
    if (
      !isDeepStrictEqual(
        (record.refusedWarnings ?? []).map(({ code }) => code),
        refused,
      )
    )
      this.#wrong(`${name} has refused ${JSON.stringify(record.refusedWarnings)}, not ${refused}`);
    const isGood = invalidCount === 0 && exceeded === undefined && refused.length === 0;
    return { ...head, required, exceeded, state: isGood ? good : "INVALID" };
  }

  /** The rows of a revision that the campaign has granted. */
  #grantedOf({ granted }: Campaign, revision: Revision): Row[] {
    return revision.rows.filter((row) => isRowOf(revision, row, granted.get(row.userId)));
  }

  /** The end of a run: what it has counted is what the ledgers and its blocks have. */
  #ended(campaign: Campaign, record: BulkGrant, before: BulkGrant): void {
    const { bulkGrantId: name, state, result, checked } = record;
    const revision = campaign.revisions.at(-1) as Revision;
    const isCancelled = before.cancelRequest !== undefined;
    const now = Date.now();
    campaign.ended = { at: now, isCancelled, revision };
    const grants = this.#grantedOf(campaign, revision).map(
      ({ userId }) => campaign.granted.get(userId) as Grant,
    );
    const counted = (result?.grantedCount ?? 0) + (checked?.alreadyGrantedCount ?? 0);
    const points = (result?.grantedPoints ?? 0) + (checked?.alreadyGrantedPoints ?? 0);
    const text = `${name} is ${state} and has counted ${counted} of ${grants.length} granted rows`;
    // What was granted after the end of a run that was not cancelled had read the event keys.
    const late =
      isCancelled || state === "DONE" ? [] : grants.filter(({ at }) => now - at < lateMs);
    if (counted > grants.length || counted < grants.length - late.length) this.#wrong(text);
    const sum = grants.reduce((total, grant) => total + grant.points, 0);
    if (counted === grants.length && points !== sum)
      this.#wrong(`${text} with ${points} points, not ${sum}`);
    const problemCounts: Record<string, number> = {};
    for (const [block, { failures }] of revision.outcomes) {
      for (const { index, code } of failures) {
        if (code === "NOT_RUN") continue;
        problemCounts[code] = (problemCounts[code] ?? 0) + 1;
        const row = rowsIn(revision, block)[index] as Row;
        if (!this.#mayFail(campaign, revision, row, code))
          this.#wrong(`${text}, and ${code} of ${row.userId} has no reason`);
      }
    }
    const failedCount = Object.values(problemCounts).reduce((a, b) => a + b, 0);
    const { grantedCount, grantedPoints } = countsOf(revision);
    const notRunCount = revision.rows.length - counted - failedCount;
    const expected = { grantedCount, grantedPoints, failedCount, notRunCount, problemCounts };
    if (!isDeepStrictEqual(result, expected))
      this.#wrong(`${text}: ${JSON.stringify(result)}, not ${JSON.stringify(expected)}`);
  }

  /** Whether a row may have failed for this reason. */
  #mayFail({ granted }: Campaign, revision: Revision, row: Row, code: string): boolean {
    const grant = granted.get(row.userId);
    const isNow = grant === undefined || Date.now() - grant.at < lateMs;
    if (code === "ID_REUSED") return grant !== undefined && !isRowOf(revision, row, grant);
    if (code !== "ACCOUNT_FROZEN" || revision.record.reversedBulkGrantId) return false;
    return isNow && this.#isFrozen(row.userId, revision.submittedAt, Date.now()).ever;
  }

  /** The points of a user. */
  pointsOf(userId: string): number {
    return this.#balances.get(userId) ?? 0;
  }

  /** Whether people have got the report of the latest run. */
  isReported(name: string): boolean {
    const { revision, run } = this.latest(name) as BulkGrant;
    return this.#reports.has(`OUTCOME of ${name}, ${revision.number}, ${run}`);
  }

  /** What people see of a campaign: its rows, how far the run has come, and its history. */
  shown(name: string) {
    const { revisions, actions } = this.#campaign(name);
    const revision = revisions.at(-1) as Revision;
    const { state, result } = this.latest(name) as BulkGrant;
    const { grantedCount, grantedPoints, failedCount } =
      state === "RUNNING" ? countsOf(revision) : (result ?? countsOf({ outcomes: new Map() }));
    return {
      rows: revision.rows.map((row, i) => {
        const [shown = "", ...codes] = stateOf(revision, i, !ends.includes(state));
        return { line: i + 2, userId: row.userId, state: shown, codes };
      }),
      progress: { grantedCount, grantedPoints, failedCount },
      actions,
    };
  }

  /** The users whose rows of the current revision are granted, if all rows were checked. */
  grantedUsers(name: string): string[] | undefined {
    const campaign = this.#campaign(name);
    const revision = campaign.revisions.at(-1);
    if (revision?.isValid === undefined) return undefined;
    return this.#grantedOf(campaign, revision).map(({ userId }) => userId);
  }
}

/** The campaign and the user of a row's event key; undefined for other ones. */
function rowIn(id: string): { readonly name: string; readonly userId: string } | undefined {
  const [, userId = "", event = ""] = id.split("#");
  if (!event.startsWith("b:")) return undefined;
  return { name: event.slice("b:".length, -`_${userId}`.length), userId };
}

const asRow = ({ userId, points, rawPoints, reason, problems = [] }: SheetRow): Row => ({
  userId,
  points: rawPoints ?? String(points),
  reason,
  codes: problems.map(({ code }) => code),
});

/** The rows of a block. */
const rowsIn = ({ rows }: Revision, block: number): readonly Row[] =>
  rows.slice(block * rowsOfBlock, (block + 1) * rowsOfBlock);

/** Whether a grant is that of the row. */
const isRowOf = ({ record }: Revision, { points, codes }: Row, grant: Grant | undefined) =>
  grant !== undefined &&
  codes.length === 0 &&
  (record.reversedBulkGrantId !== undefined || Number(points) === grant.points);

/** What the blocks of a revision have counted. */
function countsOf({ outcomes }: Pick<Revision, "outcomes">) {
  let [grantedCount, grantedPoints, failedCount] = [0, 0, 0];
  for (const outcome of outcomes.values()) {
    grantedCount += outcome.grantedCount;
    grantedPoints += outcome.grantedPoints;
    failedCount += outcome.failures.filter(({ code }) => code !== "NOT_RUN").length;
  }
  return { grantedCount, grantedPoints, failedCount };
}

/** The lines of the rows of 0 points. */
const zeroLines = ({ rows }: Pick<Revision, "rows">): number[] =>
  rows.flatMap(({ points }, index) => (/^0+$/.test(points) ? [index + 2] : []));

const codesOf = (problems: BlockCheck["problems"] = [], index: number): string[] =>
  problems.filter((each) => each.index === index).map(({ code }) => code);

/** The state of a row as people see it, and why. */
function stateOf({ rows, checks, outcomes }: Revision, i: number, isActive: boolean): string[] {
  const [block, index] = [Math.floor(i / rowsOfBlock), i % rowsOfBlock];
  const [check, outcome] = [checks.get(block), outcomes.get(block)];
  const found = codesOf(check?.problems, index);
  const problems = found.length > 0 ? found : (rows[i]?.codes ?? []);
  if (problems.length > 0) return ["INVALID", ...problems];
  if (check?.alreadyGranted.includes(index)) return ["ALREADY_GRANTED"];
  const failures = codesOf(outcome?.failures, index);
  if (failures.includes("NOT_RUN")) return ["NOT_RUN", ...failures];
  if (failures.length > 0) return ["FAILED", ...failures];
  if (outcome) return ["GRANTED"];
  return isActive ? ["PENDING"] : ["NOT_RUN", "NOT_RUN"];
}

/** Whether two files of one name have the same content. */
const isSame = (one: DroppedFile, other: DroppedFile): boolean =>
  one.source === other.source && one.path === other.path && one.version === other.version;
