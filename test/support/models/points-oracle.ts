/**
 * A second implementation of an account, with which the models compare the service: a lot for each
 * month, with its own instant of expiry. It has no ring and shares nothing with src/points, not
 * even months and time zones.
 */

/** A month and the points that were granted in it: `12 × year + (1 to 12)`. */
type Lot = number;

export type Operation =
  /** Without `ends`, a month as text, the points last for the whole lifetime. */
  | { readonly op: "grant"; readonly points: number; readonly ends?: string | undefined }
  | { readonly op: "use"; readonly points: number; readonly partial: boolean }
  | {
      readonly op: "refund";
      /** The use, or with a hold the capture. */
      readonly use: string;
      readonly hold?: string | undefined;
      readonly points: number | undefined;
      readonly policy: "ORIGINAL_EXPIRY" | "CURRENT_MONTH";
    }
  | { readonly op: "revoke"; readonly grant: string }
  | { readonly op: "extend"; readonly grant: string; readonly ends: string }
  | { readonly op: "freeze" }
  | { readonly op: "unfreeze" }
  | {
      readonly op: "hold";
      readonly points: number;
      readonly partial: boolean;
      readonly until: number;
      readonly policy: "ORIGINAL_EXPIRY" | "CURRENT_MONTH";
    }
  | {
      readonly op: "capture";
      readonly hold: string;
      readonly points: number | undefined;
      readonly more: boolean;
    }
  | { readonly op: "release"; readonly hold: string }
  /** What a worker does with a hold, whether or not it is due. */
  | { readonly op: "timeout"; readonly hold: string };

export type Request = Operation & {
  readonly id: string;
  readonly reason: string;
  readonly cause: string;
};

/** One line of the ledger, with months as text. */
export interface Line {
  readonly number: number;
  readonly type: string;
  readonly event: string;
  readonly createTime: number;
  readonly effectiveTime: number;
  readonly points: number;
  readonly changes: readonly (readonly [month: string, points: number])[];
  readonly frozen: boolean;
  readonly balance: number;
  readonly reason: string;
  readonly cause: string;
  readonly expireTime: number | undefined;
  readonly related: string | undefined;
}

export type Answer =
  | { readonly refused: string; readonly left?: number }
  | { readonly line: Line; readonly balance: number; readonly replayed: boolean };

/** What an account shows to a reader. */
export interface Shown {
  readonly balance: number;
  readonly lots: readonly { month: string; points: number; expireTime: number }[];
  readonly totals: Readonly<Record<string, number>>;
  readonly held: number;
  readonly holds: readonly ShownHold[];
  readonly frozen: boolean;
  readonly last: number;
}

/** What a hold shows to a reader. */
export interface ShownHold {
  readonly id: string;
  readonly state: string;
  readonly points: number;
  readonly captured: number;
  readonly refunded: number;
  readonly released: number;
}

/** The program: its time zone and its lifetimes, each from an instant on. */
export interface Rules {
  readonly timeZone: string;
  readonly lifetimes: { lifetimeMonths: number; effectiveTime: number }[];
}

interface Done {
  readonly content: string;
  readonly line: Line;
  readonly balance: number;
  /** Of a use: what it took and no refund has restored, in the order of taking. */
  readonly taken: [Lot, number][];
  /** Of a grant or an extension: how much of it was revoked or moved. */
  gone: number;
}

/** What an event has written, and the balance after it. */
interface Written {
  readonly line: Line;
  readonly balance: number;
}

interface Held extends Written {
  readonly content: string;
  readonly until: number;
  readonly policy: "ORIGINAL_EXPIRY" | "CURRENT_MONTH";
  /** What is still held, in the order of taking. */
  left: [Lot, number][];
  state: "HELD" | "CAPTURED" | "RELEASED" | "EXPIRED";
  readonly captures: Map<string, Captured>;
  release: Written | undefined;
}

/** What a refund may return. */
interface Spent {
  readonly taken: [Lot, number][];
  readonly since: number;
  readonly related: string;
}

interface Captured extends Written {
  readonly content: string;
  /** What it took and no refund has restored, in the order of taking. */
  readonly taken: [Lot, number][];
}

/** As many as src/points allows. */
const maxCaptures = 1_000;

interface State {
  exists: boolean;
  holds: Map<string, Held>;
  lots: Map<Lot, number>;
  totals: Record<string, number>;
  frozen: boolean;
  time: number;
  done: Map<string, Done>;
  lines: Line[];
}

export class Oracle {
  readonly #rules: Rules;
  #state: State = {
    exists: false,
    holds: new Map(),
    lots: new Map(),
    totals: {
      issuedPoints: 0,
      usedPoints: 0,
      expiredPoints: 0,
      refundedPoints: 0,
      revokedPoints: 0,
      heldPoints: 0,
      capturedPoints: 0,
      releasedPoints: 0,
    },
    frozen: false,
    time: 0,
    done: new Map(),
    lines: [],
  };

  /** The clock by which holds time out, at a time of the calendar. */
  readonly #wall: (now: number) => number;

  constructor(rules: Rules, wall: (now: number) => number) {
    this.#rules = rules;
    this.#wall = wall;
  }

  get lines(): readonly Line[] {
    return this.#state.lines;
  }

  get time(): number {
    return this.#state.time;
  }

  /** The answer to `request`, which is not applied. */
  peek(request: Request, now: number): Answer {
    const before = this.#state;
    this.#state = structuredClone(before);
    try {
      return this.#answer(request, now);
    } finally {
      this.#state = before;
    }
  }

  /** Applies `request`. A refused one changes nothing. */
  apply(request: Request, now: number): Answer {
    const answer = this.peek(request, now);
    if ("line" in answer && !answer.replayed) this.#answer(request, now);
    return answer;
  }

  /** Expires what is due and returns whether anything was. */
  sweep(now: number): boolean {
    const before = this.#state.lines.length;
    if (!this.#state.exists) return false;
    const { time } = this.#state;
    this.#advance(now);
    if (this.#state.lines.length > before) return true;
    this.#state.time = time;
    return false;
  }

  /** Sets the time of the account, which a sweep without expiries may have moved. */
  adoptTime(time: number): void {
    this.#state.time = time;
  }

  shown(now: number): Shown {
    const before = this.#state;
    this.#state = structuredClone(before);
    this.#advance(now);
    const { lots, totals, holds, frozen, lines } = this.#state;
    const shown = {
      balance: sum(lots.values()),
      lots: [...lots]
        .filter(([, points]) => points !== 0)
        .sort(([a], [b]) => a - b)
        .map(([lot, points]) => ({
          month: name(lot),
          points,
          expireTime: this.#expiry(lot, this.#state.time),
        })),
      totals: { ...totals },
      held: sum([...holds.values()].map((hold) => sum(hold.left.map(([, part]) => part)))),
      holds: [...holds].map(([id, hold]) => shownHold(id, hold)).sort(byId),
      frozen,
      last: lines.length,
    };
    this.#state = before;
    return shown;
  }

  #answer(request: Request, now: number): Answer {
    const { id, ...what } = request;
    const content = JSON.stringify(what);
    switch (request.op) {
      case "hold":
        return this.#hold(request, content, now);
      case "capture":
        return this.#capture(request, content, now);
      case "release":
        return this.#release(request, now);
      case "timeout":
        return this.#timeOut(request, now);
      default:
        return this.#answerOnce(request, content, now);
    }
  }

  /** An event of the account, whose id the account remembers. */
  #answerOnce(request: Request, content: string, now: number): Answer {
    const { id } = request;
    const known = this.#state.done.get(id);
    if (known && known.content !== content) return { refused: "ID_REUSED" };
    if (known) return { line: known.line, balance: known.balance, replayed: true };
    switch (request.op) {
      case "grant":
        return this.#grant(request, content, now);
      case "use":
        return this.#use(request, request.points, request.partial, content, now);
      case "refund":
        return this.#refund(request, content, now);
      case "revoke":
        return this.#revoke(request, request.grant, content, now);
      case "extend":
        return this.#extend(request, content, now);
      default:
        return this.#freeze(request, request.op === "freeze", content, now);
    }
  }

  #grant(request: Request & { op: "grant" }, content: string, now: number): Answer {
    if (this.#state.frozen) return { refused: "ACCOUNT_FROZEN" };
    this.#advance(now);
    const { points, ends } = request;
    const lot = ends === undefined ? this.#today() : this.#lotEnding(ends);
    if (lot === undefined) return { refused: "LIMIT_EXCEEDED" };
    this.#add(lot, points);
    this.#state.totals.issuedPoints = (this.#state.totals.issuedPoints ?? 0) + points;
    const expireTime = this.#expiry(lot, this.#state.time);
    const line = this.#write("ISSUED", `c:${request.id}`, points, [[lot, points]], {
      request,
      expireTime,
    });
    return this.#finish(request, content, line, []);
  }

  #use(request: Request, points: number, partial: boolean, content: string, now: number): Answer {
    const taken = this.#take(points, partial, now);
    if ("refused" in taken) return taken;
    const total = sum(taken.map(([, part]) => part));
    this.#count("usedPoints", total);
    const changes = taken.map(([lot, part]): [Lot, number] => [lot, -part]);
    const line = this.#write("USED", `c:${request.id}`, total, changes, { request });
    return this.#finish(request, content, line, taken);
  }

  /** Takes points, oldest lot first, and returns them in that order. */
  #take(points: number, partial: boolean, now: number): [Lot, number][] | { refused: string } {
    if (this.#state.frozen) return { refused: "ACCOUNT_FROZEN" };
    this.#advance(now);
    const there = sum(this.#state.lots.values());
    if (there === 0 || (there < points && !partial)) {
      return { refused: "INSUFFICIENT_POINTS", left: there } as { refused: string };
    }
    const taken: [Lot, number][] = [];
    let wanted = Math.min(points, there);
    for (const lot of [...this.#state.lots.keys()].sort((a, b) => a - b)) {
      const part = Math.min(this.#state.lots.get(lot) ?? 0, wanted);
      if (part === 0) continue;
      taken.push([lot, part]);
      this.#add(lot, -part);
      wanted -= part;
    }
    return taken;
  }

  #hold(request: Request & { op: "hold" }, content: string, now: number): Answer {
    const { id, until, policy } = request;
    const known = this.#state.holds.get(id);
    if (known && known.content !== content) return { refused: "ID_REUSED" };
    if (known) return { line: known.line, balance: known.balance, replayed: true };
    const ahead = until - this.#wall(now);
    if (ahead < 60_000 || ahead > 90 * 24 * 3_600_000) return { refused: "INVALID_REQUEST" };
    const left = this.#take(request.points, request.partial, now);
    if ("refused" in left) return left;
    const points = sum(left.map(([, part]) => part));
    this.#count("heldPoints", points);
    const changes = left.map(([lot, part]): [Lot, number] => [lot, -part]);
    const line = this.#write("HELD", `h:${id}`, points, changes, { request });
    const written = { line, balance: sum(this.#state.lots.values()) };
    const empty = { captures: new Map(), release: undefined };
    this.#state.holds.set(id, {
      content,
      until,
      policy,
      left,
      state: "HELD",
      ...written,
      ...empty,
    });
    return { ...written, replayed: false };
  }

  #capture(request: Request & { op: "capture" }, content: string, now: number): Answer {
    const hold = this.#state.holds.get(request.hold);
    if (!hold) return { refused: "HOLD_NOT_FOUND" };
    const known = hold.captures.get(request.id);
    if (known && known.content !== content) return { refused: "ID_REUSED" };
    if (known) return { line: known.line, balance: known.balance, replayed: true };
    if (hold.state !== "HELD") return { refused: "WRONG_STATE" };
    const left = sum(hold.left.map(([, part]) => part));
    const points = request.points ?? left;
    if (points > left) return { refused: "LIMIT_EXCEEDED", left };
    const isEnd = points === left || !request.more;
    if (!isEnd && hold.captures.size >= maxCaptures - 1) return { refused: "LIMIT_EXCEEDED" };
    if (this.#state.frozen) return { refused: "ACCOUNT_FROZEN" };
    this.#advance(now);
    const taken: [Lot, number][] = [];
    for (let wanted = points; wanted > 0; ) {
      const [lot, part] = hold.left.shift() as [Lot, number];
      if (part > wanted) hold.left.unshift([lot, part - wanted]);
      taken.push([lot, Math.min(part, wanted)]);
      wanted -= Math.min(part, wanted);
    }
    this.#count("capturedPoints", points);
    const related = `h:${request.hold}`;
    const event = `${related}/capture/${request.id}`;
    const line = this.#write("CAPTURED", event, points, [], { request, related });
    if (isEnd) {
      if (points < left) this.#giveBack(request.hold, hold, request);
      hold.state = "CAPTURED";
    }
    const balance = sum(this.#state.lots.values());
    hold.captures.set(request.id, { content, line, balance, taken });
    return { line, balance, replayed: false };
  }

  #release(request: Request & { op: "release" }, now: number): Answer {
    const hold = this.#state.holds.get(request.hold);
    if (!hold) return { refused: "HOLD_NOT_FOUND" };
    if (hold.state === "RELEASED") return { ...(hold.release as Written), replayed: true };
    if (hold.state !== "HELD") return { refused: "WRONG_STATE" };
    this.#advance(now);
    hold.state = "RELEASED";
    return { ...this.#giveBack(request.hold, hold, request), replayed: false };
  }

  /** The answer of a hold that is not due, or has ended, is its state. */
  #timeOut(request: Request & { op: "timeout" }, now: number): Answer {
    const hold = this.#state.holds.get(request.hold);
    if (!hold) return { refused: "HOLD_NOT_FOUND" };
    if (hold.state !== "HELD" || hold.until > this.#wall(now)) return { refused: hold.state };
    this.#advance(now);
    hold.state = "EXPIRED";
    return { ...this.#giveBack(request.hold, hold), replayed: false };
  }

  /** Returns what is held to its lots. Those that have expired expire again, or go to today's. */
  #giveBack(id: string, hold: Held, request?: Request): Written {
    const back = new Map(hold.left);
    hold.left = [];
    const since = hold.line.createTime;
    const { changes, expired } = this.#restore(back, hold.policy, since);
    const points = sum(back.values());
    this.#count("releasedPoints", points);
    const event = `h:${id}/release`;
    const why = { related: `h:${id}`, ...(request && { request }) };
    const line = this.#write("RELEASED", event, points, changes, why);
    for (const lot of expired) this.#expire(lot, back.get(lot) ?? 0, since, `/${event}`);
    hold.release = { line, balance: sum(this.#state.lots.values()) };
    return hold.release;
  }

  #refund(request: Request & { op: "refund" }, content: string, now: number): Answer {
    const spent = this.#spent(request);
    if ("refused" in spent) return spent;
    const { taken, since, related } = spent;
    const left = sum(taken.map(([, points]) => points));
    const points = request.points ?? left;
    if (left === 0 || points > left) return { refused: "LIMIT_EXCEEDED", left };
    if (this.#state.frozen) return { refused: "ACCOUNT_FROZEN" };
    this.#advance(now);
    const back = giveBack(taken, points);
    const { changes, expired } = this.#restore(back, request.policy, since);
    this.#count("refundedPoints", points);
    const line = this.#write("REFUNDED", `c:${request.id}`, points, changes, {
      request,
      related,
    });
    for (const lot of expired) {
      this.#expire(lot, back.get(lot) ?? 0, since, `/c:${request.id}`);
    }
    return this.#finish(request, content, line, []);
  }

  /** What a use or a capture took and no refund has restored, and since when. */
  #spent({ use, hold: holdId }: Request & { op: "refund" }): Spent | { refused: string } {
    if (holdId === undefined) {
      const used = this.#state.done.get(use);
      if (!used) return { refused: "LEDGER_ENTRY_NOT_FOUND" };
      if (used.line.type !== "USED") return { refused: "WRONG_STATE" };
      return { taken: used.taken, since: used.line.createTime, related: used.line.event };
    }
    const hold = this.#state.holds.get(holdId);
    if (!hold) return { refused: "HOLD_NOT_FOUND" };
    const capture = hold.captures.get(use);
    if (!capture) return { refused: "LEDGER_ENTRY_NOT_FOUND" };
    const { taken, line } = capture;
    return { taken, since: hold.line.createTime, related: line.event };
  }

  /**
   * Adds points to the lots that they were taken from at `since`. Returns the changes, and the lots
   * that are to expire again.
   */
  #restore(back: ReadonlyMap<Lot, number>, policy: Held["policy"], since: number) {
    const expired = [...back.keys()].filter((lot) => this.#expiry(lot, since) <= this.#state.time);
    const changes = new Map<Lot, number>();
    for (const [lot, part] of back) {
      const target = expired.includes(lot) && policy === "CURRENT_MONTH" ? this.#today() : lot;
      changes.set(target, (changes.get(target) ?? 0) + part);
      this.#add(target, part);
    }
    const again = policy === "ORIGINAL_EXPIRY" ? expired.sort((a, b) => a - b) : [];
    return { changes: [...changes], expired: again };
  }

  #count(total: string, points: number): void {
    this.#state.totals[total] = (this.#state.totals[total] ?? 0) + points;
  }

  #revoke(request: Request, grant: string, content: string, now: number): Answer {
    const granted = this.#state.done.get(grant);
    if (!granted) return { refused: "LEDGER_ENTRY_NOT_FOUND" };
    if (!bringsPoints(granted)) return { refused: "WRONG_STATE" };
    this.#advance(now);
    const { lot, points } = this.#left(granted);
    granted.gone += points;
    this.#add(lot, -points);
    this.#state.totals.revokedPoints = (this.#state.totals.revokedPoints ?? 0) + points;
    const changes: [Lot, number][] = points === 0 ? [] : [[lot, -points]];
    const line = this.#write("REVOKED", `c:${request.id}`, points, changes, {
      request,
      related: `c:${grant}`,
    });
    return this.#finish(request, content, line, []);
  }

  #extend(request: Request & { op: "extend" }, content: string, now: number): Answer {
    const granted = this.#state.done.get(request.grant);
    if (!granted) return { refused: "LEDGER_ENTRY_NOT_FOUND" };
    if (!bringsPoints(granted)) return { refused: "WRONG_STATE" };
    this.#advance(now);
    const target = this.#lotEnding(request.ends);
    if (target === undefined) return { refused: "LIMIT_EXCEEDED" };
    const { lot, points } = this.#left(granted);
    if (points > 0 && lot >= target) return { refused: "LIMIT_EXCEEDED" };
    granted.gone += points;
    this.#add(lot, -points);
    this.#add(target, points);
    const moved: [Lot, number][] = [
      [lot, -points],
      [target, points],
    ];
    const line = this.#write("EXTENDED", `c:${request.id}`, points, points === 0 ? [] : moved, {
      request,
      expireTime: this.#expiry(target, this.#state.time),
      related: `c:${request.grant}`,
    });
    return this.#finish(request, content, line, []);
  }

  /** What a grant or an extension still has in the lot into which it has put points. */
  #left(granted: Done): { lot: Lot; points: number } {
    const [month] = granted.line.changes.at(-1) ?? [undefined];
    const lot = month === undefined ? this.#today() : lotOf(month);
    if (this.#expiry(lot, granted.line.createTime) <= this.#state.time) return { lot, points: 0 };
    const held = this.#state.lots.get(lot) ?? 0;
    return { lot, points: Math.min(granted.line.points - granted.gone, held) };
  }

  /** The lot that ends with a month, by the lifetime of now, unless that is not possible. */
  #lotEnding(month: string): Lot | undefined {
    const { lifetimes } = this.#rules;
    const now = lifetimes.findLast(({ effectiveTime }) => effectiveTime <= this.#state.time);
    const months = (now ?? lifetimes[0])?.lifetimeMonths ?? 0;
    const lots = Array.from({ length: months }, (_, back) => this.#today() - back);
    return lots.find((lot) => lot + months === lotOf(month) + 1);
  }

  #freeze(request: Request, frozen: boolean, content: string, now: number): Answer {
    if (!this.#state.exists && !frozen) return { refused: "ACCOUNT_NOT_FOUND" };
    this.#advance(now);
    this.#state.frozen = frozen;
    const type = frozen ? "FROZEN" : "UNFROZEN";
    const line = this.#write(type, `c:${request.id}`, 0, [], { request });
    return this.#finish(request, content, line, []);
  }

  #finish(request: Request, content: string, line: Line, taken: [Lot, number][]): Answer {
    const balance = sum(this.#state.lots.values());
    this.#state.done.set(request.id, { content, line, balance, taken, gone: 0 });
    return { line, balance, replayed: false };
  }

  /** Sets the time and expires every lot that is due, the oldest first. */
  #advance(now: number): void {
    const state = this.#state;
    const since = state.time;
    if (now > state.time) state.time = now;
    if (!state.exists) return;
    for (const lot of [...state.lots.keys()].sort((a, b) => a - b)) {
      const end = this.#expiry(lot, since);
      if (end > state.time) continue;
      // Points that were granted after the first ones of the lot had expired have a name of theirs.
      const isFirst = end === this.#expiry(lot, Number.NEGATIVE_INFINITY);
      const cause = isFirst ? "" : `/${name(lotAt(this.#rules.timeZone, end) - 1)}`;
      this.#expire(lot, state.lots.get(lot) ?? 0, since, cause);
    }
  }

  #expire(lot: Lot, points: number, since: number, cause: string): void {
    this.#add(lot, -points);
    this.#state.totals.expiredPoints = (this.#state.totals.expiredPoints ?? 0) + points;
    this.#write("EXPIRED", `x:${name(lot)}${cause}`, points, [[lot, -points]], {
      effectiveTime: this.#expiry(lot, since),
    });
  }

  #write(
    type: string,
    event: string,
    points: number,
    changes: readonly [Lot, number][],
    { request, ...more }: Partial<Line> & { readonly request?: Request },
  ): Line {
    const { lines, time, frozen, lots } = this.#state;
    this.#state.exists = true;
    const line: Line = {
      number: lines.length + 1,
      type,
      event,
      createTime: time,
      effectiveTime: time,
      points,
      changes: [...changes].sort(([a], [b]) => a - b).map(([lot, part]) => [name(lot), part]),
      frozen,
      balance: sum(lots.values()),
      expireTime: undefined,
      related: undefined,
      reason: request?.reason ?? "",
      cause: request?.cause ?? "",
      ...more,
    };
    lines.push(line);
    return line;
  }

  #add(lot: Lot, points: number): void {
    const { lots } = this.#state;
    lots.set(lot, (lots.get(lot) ?? 0) + points);
    if (lots.get(lot) === 0) lots.delete(lot);
  }

  #today(): Lot {
    return lotAt(this.#rules.timeZone, this.#state.time);
  }

  /**
   * The instant at which points expire that are in a lot at `since`: each lengthening moves only
   * instants after it takes effect, and one that was in effect at `since` has moved them.
   */
  #expiry(lot: Lot, since: number): number {
    const [first, ...later] = this.#rules.lifetimes as [Rules["lifetimes"][0]];
    let instant = startOfMonth(this.#rules.timeZone, lot + first.lifetimeMonths);
    for (const { lifetimeMonths, effectiveTime } of later as Rules["lifetimes"]) {
      if (instant > effectiveTime || effectiveTime <= since)
        instant = startOfMonth(this.#rules.timeZone, lot + lifetimeMonths);
    }
    return instant;
  }
}

/** Whether a request has put points into a lot. */
const bringsPoints = ({ line }: Done): boolean => ["ISSUED", "EXTENDED"].includes(line.type);
const byId = (a: ShownHold, b: ShownHold): number => (a.id < b.id ? -1 : 1);

function shownHold(id: string, { state, line, captures, release }: Held): ShownHold {
  const captured = sum([...captures.values()].map((capture) => capture.line.points));
  const kept = sum([...captures.values()].flatMap(({ taken }) => taken.map(([, part]) => part)));
  const shown = { captured, refunded: captured - kept, released: release?.line.points ?? 0 };
  return { id, state, points: line.points, ...shown };
}

/** Removes `points` from the end of what a use took: what was taken last is restored first. */
function giveBack(taken: [Lot, number][], points: number): Map<Lot, number> {
  const back = new Map<Lot, number>();
  let wanted = points;
  while (wanted > 0) {
    const last = taken.pop() as [Lot, number];
    const part = Math.min(last[1], wanted);
    back.set(last[0], part);
    wanted -= part;
    if (part < last[1]) taken.push([last[0], last[1] - part]);
  }
  return back;
}

const sum = (values: Iterable<number>): number => {
  let total = 0;
  for (const value of values) total += value;
  return total;
};

/** `2026-11` of a lot. */
export function name(lot: Lot): string {
  const month = ((lot - 1) % 12) + 1;
  return `${(lot - month) / 12}-${month < 10 ? "0" : ""}${month}`;
}

const lotOf = (text: string): Lot => Number(text.slice(0, 4)) * 12 + Number(text.slice(5));

const calendars = new Map<string, Intl.DateTimeFormat>();

/** Year and month on the wall in a time zone. */
function wallAt(timeZone: string, instant: number): Lot {
  let calendar = calendars.get(timeZone);
  if (!calendar) {
    const options = { timeZone, year: "numeric", month: "numeric" } as const;
    calendar = new Intl.DateTimeFormat("en-US", options);
    calendars.set(timeZone, calendar);
  }
  const [month, year] = calendar.format(instant).split("/").map(Number) as [number, number];
  return 12 * year + month;
}

const quarter = 15 * 60_000;
const starts = new Map<string, number>();

/** The first instant at which a wall clock shows the month, found in steps of a quarter hour. */
export function startOfMonth(timeZone: string, lot: Lot): number {
  const key = `${timeZone}/${lot}`;
  const known = starts.get(key);
  if (known !== undefined) return known;
  const year = Math.floor((lot - 1) / 12);
  let instant = Date.UTC(year, (lot - 1) % 12, 1) - 15 * 3_600_000;
  while (wallAt(timeZone, instant) < lot) instant += quarter;
  starts.set(key, instant);
  return instant;
}

/** The month of an instant: a month that has begun lasts until the next one begins. */
export function lotAt(timeZone: string, instant: number): Lot {
  const wall = wallAt(timeZone, instant);
  return instant >= startOfMonth(timeZone, wall + 1) ? wall + 1 : wall;
}
