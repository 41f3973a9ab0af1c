/**
 * What bulk grants have to do by the text of the design, in the plainest form: one campaign after
 * another in plain lists, without a store, digests or concurrency.
 */
import { type BulkRules, defaultBulkRules } from "../../../src/domain/bulk-rules.ts";
import { type RowCode, rowsPerBlock } from "../../../src/domain/sheet.ts";
import {
  active,
  approvalsFor,
  approve,
  blockOf,
  blocksDone,
  type Campaign,
  type Counted,
  changes,
  checkRows,
  contentOf,
  countsOf,
  expire,
  grantedRows,
  headOf,
  isLeft,
  isPoints,
  type Of,
  pointsOf,
  problemsOf,
  Refusal,
  type Row,
  refuse,
  rowsOfContent,
  shownState,
  stepOf,
  sum,
  totalOf,
} from "./bulk-oracle-campaign.ts";
import { countedAt, countedOf, grantedOf, requiredWithin } from "./bulk-oracle-tiers.ts";
import type { Answer, Counts, Raw, Request, Shown } from "./bulk-requests.ts";

/** A person's change of a state, and no more than that. */
type Command = Extract<Request, { readonly by: string; readonly op: string }>;
const hour = 3_600_000;
/** The largest points of a row. */
const mostPoints = 10 ** 9;
/** The times of the service under test. */
export const approvalTimes = { reminderMs: hour, expiryMs: 4 * hour };

interface Account {
  balance: number;
  frozen: boolean;
}

interface State {
  campaigns: Record<string, Campaign>;
  accounts: Record<string, Account>;
  /** By content the id that had it first. */
  contents: Record<string, string>;
  rules: BulkRules;
  /** What revisions count that were run and then replaced. */
  replaced: Counted[];
  reports: string[];
}

/** The oracle: predicts every answer, and what is shown. */
export class Oracle {
  #state: State;

  constructor(state?: State) {
    this.#state = state ?? {
      campaigns: {},
      accounts: {},
      contents: {},
      rules: defaultBulkRules,
      replaced: [],
      reports: [],
    };
  }

  clone(): Oracle {
    return new Oracle(structuredClone(this.#state));
  }

  /** The one that was submitted last comes first. */
  get ids(): string[] {
    return Object.keys(this.#state.campaigns).reverse();
  }

  /** The reports that people have got: kind, id and state. */
  get reports(): readonly string[] {
    return this.#state.reports;
  }

  /** The points of a user, and whether the account is frozen. */
  accountOf(userId: string): Readonly<Account> {
    return this.#state.accounts[userId] ?? { balance: 0, frozen: false };
  }

  /** All users who have an account. */
  get userIds(): string[] {
    return Object.keys(this.#state.accounts);
  }

  blockCount(id: string): number {
    return Math.ceil((this.#state.campaigns[id]?.rows.length ?? 0) / rowsPerBlock);
  }

  /** 0 when there is no such campaign. */
  revisionOf(id: string): number {
    return this.#state.campaigns[id]?.revision ?? 0;
  }

  executeTimeOf(id: string): number | undefined {
    return this.#state.campaigns[id]?.executeTime;
  }

  /** The rows and the execute time of the first revision. */
  firstOf(id: string): { readonly rows: readonly Raw[]; readonly executeTime: number | undefined } {
    const [first = '["[]"]'] = Object.keys(this.#state.campaigns[id]?.revisions ?? {});
    const [rowsText, executeTime] = JSON.parse(first);
    return { rows: rowsOfContent(rowsText), executeTime: executeTime ?? undefined };
  }

  /** Whether all blocks of the current revision were validated. */
  #isChecked(id: string): boolean {
    const { validated } = this.#find(id);
    return validated.filter(Boolean).length === this.blockCount(id);
  }

  /** What the digest of the current revision names. */
  meaningOf(id: string): string {
    const { revision, content, required } = this.#find(id);
    return JSON.stringify([id, revision, content, required]);
  }

  /** The rows of the current revision as they were sent. */
  rowsOf(id: string): readonly Raw[] {
    return (this.#state.campaigns[id]?.rows ?? []).map(({ userId, points, reason }) => ({
      userId,
      points,
      reason,
    }));
  }

  apply(request: Request, now: number): Answer {
    const before = structuredClone(this.#state);
    try {
      return this.#apply(request, now);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#state = before;
      return { refused: error.message };
    }
  }

  #apply(request: Request, now: number): Answer {
    switch (request.op) {
      case "submit":
        return this.#submit(request, checkRows(request.rows, this.#state.rules), now);
      case "reverse":
        return this.#submit(request, this.#rowsToReverse(request), now);
      case "validate":
        return this.#validate(request);
      case "complete":
        return this.#complete(request, now);
      case "advance":
        return this.#advance(request.id, now);
      case "run":
        return this.#run(request);
      case "finish":
        return this.#finish(request);
      case "remind":
      case "report":
        return this.#report(request, now);
      case "freeze":
      case "unfreeze":
        return this.#setFrozen(request);
      case "grant":
      case "use":
        return this.#changeBalance(request);
      case "rules":
        this.#state.rules = request.rules;
        return { done: true };
      default:
        return this.#command(request, now);
    }
  }

  #find(id: string): Campaign {
    return this.#state.campaigns[id] ?? refuse("BULK_GRANT_NOT_FOUND");
  }

  #submit(request: Of<"submit"> | Of<"reverse">, rows: Row[], now: number): Answer {
    const { id, by: submitter, executeTime } = request;
    const reverses = request.op === "reverse" ? request.reverses : undefined;
    const old = this.#state.campaigns[id];
    const rowsText = contentOf(rows);
    const content = JSON.stringify([rowsText, executeTime, reverses]);
    const replaces = request.op === "submit" ? request.replaces : undefined;
    const isNext = replaces === (old?.revision ?? 0);
    const same = old?.revisions[content];
    if (old && same && !isNext) return { head: headOf(old), revision: same, replayed: true };
    if (replaces !== undefined && !isNext) refuse("WRONG_STATE");
    if (old && old.reverses !== reverses) refuse("ID_REUSED");
    if (old && (active.includes(old.state) || old.state === "DONE")) refuse("WRONG_STATE");
    const { contents, rules } = this.#state;
    const total = totalOf(rows);
    if (old) this.#state.replaced.push(...grantedOf(old));
    const countedBefore = (old?.countedBefore ?? 0) + (old?.result?.grantedPoints ?? 0);
    const required =
      reverses === undefined && countedBefore === 0
        ? requiredWithin(rules, this.#countedBeside(id), total, now)
        : approvalsFor(rules, total);
    const first = contents[rowsText];
    if (reverses === undefined) contents[rowsText] ??= id;
    const revision = (old?.revision ?? 0) + 1;
    const campaign: Campaign = {
      state: "VALIDATING",
      revision,
      content,
      revisions: { ...old?.revisions, [content]: revision },
      rows,
      before: [...(old?.before ?? []), ...(old ? grantedRows(old) : [])],
      usersBefore: old ? usersOf(old) : [],
      countedBefore,
      given: old?.given ?? {},
      executeTime,
      submitter,
      required,
      counted: reverses === undefined ? countedAt(now, required, total) : undefined,
      started: false,
      exceededMaxTotalPoints:
        reverses === undefined && total > rules.maxTotalPoints ? rules.maxTotalPoints : undefined,
      sameContentBulkGrantId: reverses === undefined && first !== id ? first : undefined,
      reverses,
      approvedBy: [],
      remindAt: now + approvalTimes.reminderMs,
      expireAt: now + approvalTimes.expiryMs,
      reminded: false,
      reported: false,
      paused: false,
      cancelling: false,
      run: old?.run ?? 0,
      validated: [],
      ran: [],
      checked: undefined,
      result: undefined,
      lastAction: `SUBMIT ${submitter}`,
    };
    delete this.#state.campaigns[id];
    this.#state.campaigns[id] = campaign;
    return { head: headOf(campaign), revision, replayed: false };
  }

  #rowsToReverse({ reverses }: Of<"reverse">): Row[] {
    const campaign = this.#find(reverses);
    if (campaign.reverses !== undefined) refuse("INVALID_REQUEST");
    if (active.includes(campaign.state)) refuse("WRONG_STATE");
    const granted = new Map(
      [...campaign.before, ...grantedRows(campaign)].map((row) => [row.userId, row]),
    );
    const rows = usersOf(campaign).flatMap((userId) => granted.get(userId) ?? []);
    return rows.length === 0 ? refuse("WRONG_STATE") : rows.map((row) => ({ ...row, own: [] }));
  }

  #validate({ id, revision, from, to, limit }: Of<"validate">): Answer {
    const campaign = this.#find(id);
    for (let block = from; block < to; block++) {
      if (campaign.state !== "VALIDATING" || campaign.revision !== revision)
        return { next: block, stopped: true };
      if (!campaign.validated[block]) {
        for (const row of blockOf(campaign, block)) {
          row.found = this.#check(campaign, row);
        }
        campaign.validated[block] = true;
      }
      if (block + 1 < to && block + 1 - from >= limit) return { next: block + 1, stopped: false };
    }
    return { next: undefined, stopped: false };
  }

  #check({ given, reverses }: Campaign, { own, userId, points }: Row): NonNullable<Row["found"]> {
    if (own.includes("USER_MISSING") || own.includes("USER_MALFORMED")) return [];
    const earlier = given[userId];
    if (earlier && (reverses !== undefined || earlier.points === points))
      return own.length === 0 ? "ALREADY_GRANTED" : [];
    const codes: RowCode[] = [];
    // More points than any grant may have are kept as text, which is not compared.
    if (earlier && isPoints(points) && points <= mostPoints) codes.push("ID_REUSED");
    if (this.#state.accounts[userId]?.frozen && reverses === undefined)
      codes.push("ACCOUNT_FROZEN");
    return codes;
  }

  #complete({ id, revision }: Of<"complete">, now: number): Answer {
    const campaign = this.#find(id);
    if (campaign.state !== "VALIDATING" || campaign.revision !== revision || !this.#isChecked(id))
      return { head: headOf(campaign) };
    const already = campaign.rows.filter(({ found }) => found === "ALREADY_GRANTED");
    const invalid = campaign.rows.filter((row) => problemsOf(row).length > 0);
    campaign.checked = {
      invalid: invalid.length,
      already: already.length,
      alreadyPoints: already.reduce(
        (sum, { userId }) => sum + (campaign.given[userId]?.points ?? 0),
        0,
      ),
    };
    this.#limit(campaign, id, now);
    const isBad = invalid.length > 0 || campaign.exceededMaxTotalPoints !== undefined;
    const good = campaign.required === 0 ? "APPROVED" : "AWAITING_APPROVAL";
    campaign.state = isBad ? "INVALID" : good;
    return { head: headOf(campaign) };
  }

  /** Applies the rules in force to all that is known after the validation. */
  #limit(campaign: Campaign, id: string, now: number): void {
    const { rules } = this.#state;
    const points = pointsOf(campaign);
    campaign.required = Math.max(campaign.required, approvalsFor(rules, points));
    if (campaign.reverses !== undefined) return;
    const total = totalOf(campaign.rows);
    if (points > total && points > rules.maxTotalPoints)
      campaign.exceededMaxTotalPoints ??= rules.maxTotalPoints;
    const newPoints = total - (campaign.checked?.alreadyPoints ?? 0);
    if (newPoints > 0) {
      const within = requiredWithin(rules, this.#countedBeside(id), newPoints, now);
      campaign.required = Math.max(campaign.required, within);
    }
    campaign.counted = countedAt(now, campaign.required, newPoints);
  }

  /** All that counts besides the current revision of this campaign. */
  #countedBeside(id: string): Counted[] {
    const { campaigns, replaced } = this.#state;
    const others = Object.entries(campaigns).filter(([other]) => other !== id);
    return [...replaced, ...others.flatMap(([, campaign]) => countedOf(campaign))];
  }

  #advance(id: string, now: number): Answer {
    const campaign = this.#find(id);
    expire(campaign, now);
    if (campaign.state === "APPROVED" && !campaign.paused && now >= (campaign.executeTime ?? 0)) {
      campaign.state = "RUNNING";
      campaign.run += 1;
      campaign.started = true;
    }
    const { state, paused, reminded, remindAt, expireAt, executeTime } = campaign;
    const until =
      state === "AWAITING_APPROVAL"
        ? Math.min(reminded ? expireAt : remindAt, expireAt)
        : state === "APPROVED" && !paused
          ? executeTime
          : undefined;
    const waitMs = until === undefined ? undefined : Math.max(until - now, 0);
    return { head: headOf(campaign), step: stepOf(campaign), waitMs };
  }

  #run({ id, revision, run, from, to, limit, diesAfter }: Of<"run">): Answer {
    const campaign = this.#find(id);
    let rowsUntilDeath = diesAfter ?? Number.POSITIVE_INFINITY;
    let counts: Counts = { grantedCount: 0, grantedPoints: 0, failedCount: 0 };
    for (let block = from; block < to; block++) {
      const isWanted =
        campaign.state === "RUNNING" &&
        campaign.run === run &&
        campaign.revision === revision &&
        !campaign.paused &&
        !campaign.cancelling;
      if (!isWanted) return { next: block, stopped: true, counts };
      const rows = blockOf(campaign, block);
      if (campaign.ran[block] !== run) {
        const left = rows.filter(isLeft);
        const outcomes = left.slice(0, rowsUntilDeath).map((row) => this.#execute(campaign, row));
        // What a dead worker has done is not recorded with the block, but it is not done again.
        if (left.length > rowsUntilDeath) return { failed: true };
        rowsUntilDeath -= left.length;
        for (const [i, row] of left.entries()) row.outcome = outcomes[i] as number | RowCode;
        campaign.ran[block] = run;
      }
      counts = sum(counts, countsOf(rows));
      if (block + 1 < to && block + 1 - from >= limit)
        return { next: block + 1, stopped: false, counts };
    }
    return { next: undefined, stopped: false, counts };
  }

  #execute({ given, reverses }: Campaign, { userId, points }: Row): number | RowCode {
    const earlier = given[userId];
    if (earlier) return earlier.points;
    const account = this.#accountOf(userId);
    if (reverses === undefined) {
      if (account.frozen) return "ACCOUNT_FROZEN";
      account.balance += points;
      given[userId] = { points, reversed: 0 };
      return points;
    }
    const grant = this.#state.campaigns[reverses]?.given[userId];
    if (!grant) return "LEDGER_ENTRY_NOT_FOUND";
    const taken = Math.min(grant.points - grant.reversed, account.balance);
    account.balance -= taken;
    grant.reversed += taken;
    given[userId] = { points: taken, reversed: 0 };
    return taken;
  }

  #finish({ id, run }: Of<"finish">): Answer {
    const campaign = this.#find(id);
    if (campaign.state !== "RUNNING" || campaign.run !== run) return { head: headOf(campaign) };
    const isNotRun = (row: Row) =>
      isLeft(row) && row.outcome === undefined && !campaign.given[row.userId];
    const left = campaign.rows.filter(isNotRun);
    if (!this.#hasRun(campaign) && !campaign.cancelling) return { head: headOf(campaign) };
    for (const row of campaign.rows.filter(isLeft)) {
      const given = campaign.given[row.userId];
      if (given) row.outcome = given.points;
    }
    for (const row of left) row.outcome = "NOT_RUN";
    const problemCounts: Partial<Record<RowCode, number>> = {};
    for (const { outcome } of campaign.rows) {
      if (typeof outcome !== "string" || outcome === "NOT_RUN") continue;
      problemCounts[outcome] = (problemCounts[outcome] ?? 0) + 1;
    }
    const counts = countsOf(campaign.rows);
    campaign.result = { ...counts, notRunCount: left.length, problemCounts };
    const ended = counts.failedCount > 0 ? "DONE_WITH_FAILURES" : "DONE";
    campaign.state = left.length > 0 ? "CANCELLED" : ended;
    campaign.paused = false;
    campaign.cancelling = false;
    return { head: headOf(campaign) };
  }

  /** Whether all blocks were executed by the current run. */
  #hasRun({ ran, run, rows }: Campaign): boolean {
    const done = ran.filter((each) => each === run);
    return done.length === Math.ceil(rows.length / rowsPerBlock);
  }

  #report({ op, id }: Of<"remind" | "report">, now: number): Answer {
    const campaign = this.#find(id);
    if (op === "remind") {
      const isDue = campaign.state === "AWAITING_APPROVAL" && now >= campaign.remindAt;
      if (isDue && !campaign.reminded) this.#state.reports.push(`REMINDER ${id}`);
      campaign.reminded ||= isDue;
    } else if (!campaign.reported) {
      campaign.reported = true;
      this.#state.reports.push(`OUTCOME ${id} ${campaign.state}`);
    }
    return { done: true };
  }

  #accountOf(userId: string): Account {
    const { accounts } = this.#state;
    const account = { ...this.accountOf(userId) };
    accounts[userId] = account;
    return account;
  }

  #setFrozen({ op, userId }: Of<"freeze" | "unfreeze">): Answer {
    if (op === "unfreeze" && !this.#state.accounts[userId]) refuse("ACCOUNT_NOT_FOUND");
    this.#accountOf(userId).frozen = op === "freeze";
    return { done: true };
  }

  #changeBalance({ op, userId, points }: Of<"grant" | "use">): Answer {
    const account = this.#accountOf(userId);
    if (account.frozen) refuse("ACCOUNT_FROZEN");
    if (op === "use" && account.balance < points) refuse("INSUFFICIENT_POINTS");
    account.balance += op === "use" ? -points : points;
    return { done: true };
  }

  #command(request: Exclude<Command, Of<"submit" | "reverse">>, now: number): Answer {
    const campaign = this.#find(request.id);
    const change =
      request.op === "approve" ? approve(campaign, request, this.#state.rules, now) : undefined;
    const changed = change ?? (request.op !== "approve" && changes[request.op](campaign));
    if (changed) campaign.lastAction = `${request.op.toUpperCase()} ${request.by}`;
    return { head: headOf(campaign) };
  }

  shown(id: string): Shown {
    const campaign = this.#find(id);
    const none: Counts = { grantedCount: 0, grantedPoints: 0, failedCount: 0 };
    const { grantedCount, grantedPoints, failedCount } = campaign.result ?? none;
    const isRunning = campaign.state === "RUNNING";
    return {
      head: headOf(campaign),
      progress: isRunning ? countsOf(campaign.rows) : { grantedCount, grantedPoints, failedCount },
      rows: campaign.rows.map((row, i) => [i + 2, row.userId, ...shownState(campaign, row)]),
      blocksDone: blocksDone(campaign),
    };
  }
}

/** The users of all revisions in the order in which they came first. */
const usersOf = ({ usersBefore, rows }: Campaign): string[] => [
  ...new Set([
    ...usersBefore,
    ...rows.filter(({ own }) => own.length === 0).map(({ userId }) => userId),
  ]),
];
