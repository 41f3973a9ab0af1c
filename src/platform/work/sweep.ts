/** Processes many records, page by page: one that fails is named, and only an outage ends it. */

import type { Page } from "../ports/pages.ts";
import { DomainError } from "../words/errors.ts";
import { maxReports } from "../words/quantities.ts";
import { type OutageRules, UnconfirmedFailures } from "./unconfirmed-failures.ts";

/**
 * The cursor from which a sweep continues. Heartbeats contain it as JSON, so no name may change.
 */
export interface SweepCursor<Name> {
  /** The cursor of the page; absent for the first one. */
  readonly cursor?: string | undefined;
  /** The records of that page that are done, when an outage ended a sweep within the page. */
  readonly done?: readonly Name[] | undefined;
}

/** The counts of every sweep, as plain JSON. */
export interface SweepCounts<Name> {
  readonly failed: number;
  /** The first 100 that failed, each with a reason of `words/reasons.ts` or INTERNAL. */
  readonly failures: readonly (Name & { readonly reason: string })[];
}

/** A page of a sweep. */
export interface SweepPage<T, Name> extends Page<T> {
  /** The record that could not be read. It counts as failed, and the sweep goes on behind it. */
  readonly unread?: { readonly name: Name; readonly error: unknown } | undefined;
}

/** The steps of a sweep. `Name` identifies a record as plain JSON, such as `{ userId }`. */
export interface Sweep<T, Name, Outcome, Counts> extends OutageRules<T> {
  /** Reads the page at a cursor; undefined for the first page. Its error ends the sweep. */
  read(cursor: string | undefined): Promise<SweepPage<T, Name>>;
  /**
   * Processes a record; may be called again for it. A long record that is alone on its page gives
   * cursors inside itself to `checkpoint`, and returns at once when that returns false.
   */
  process(record: T, checkpoint: (cursor: string) => boolean): Promise<Outcome>;
  add(counts: Counts, outcome: Outcome): Counts;
  nameOf(record: T): Name;
  /** Logs a record that failed. */
  onFailed(name: Name, error: unknown): void;
  readonly concurrency: number;
}

/**
 * Processes the records from a cursor on and adds to `start`, until `shouldContinue` returns false.
 * It is called with the progress after every page and checkpoint. When an outage ends the sweep,
 * it is called with the progress before the outage, and then the error is thrown.
 *
 * A record that fails with the reason of an outage is processed once more when another one has
 * succeeded (see `UnconfirmedFailures`). Until it is done, or has failed by itself, the progress
 * stays before it, so that no record counts as failed for an outage.
 */
export function sweep<T, Name extends object, Outcome, Counts extends SweepCounts<Name>>(
  work: Sweep<T, Name, Outcome, Counts>,
  start: Counts,
  from: SweepCursor<Name>,
  shouldContinue: (progress: Counts & SweepCursor<Name>) => boolean,
): Promise<Counts & { readonly cursor?: string | undefined }> {
  return new Sweeping(work, start, from, shouldContinue).run();
}

class Sweeping<T, Name extends object, Outcome, Counts extends SweepCounts<Name>> {
  readonly #work: Sweep<T, Name, Outcome, Counts>;
  readonly #shouldContinue: (progress: Counts & SweepCursor<Name>) => boolean;
  readonly #unconfirmed: UnconfirmedFailures<T>;
  #counts: Counts;
  #cursor: string | undefined;
  #page: SweepPage<T, Name> = { items: [] };
  /** The records of the page that are done or have failed by themselves. */
  #ended: Set<T>;
  /** The progress before the first unconfirmed failure, if that is on an earlier page. */
  #before: (Counts & SweepCursor<Name>) | undefined;
  #isStopped = false;
  /** The names of the records of the first page that are done. */
  readonly #past: Set<string>;

  constructor(
    work: Sweep<T, Name, Outcome, Counts>,
    start: Counts,
    { cursor, done = [] }: SweepCursor<Name>,
    shouldContinue: (progress: Counts & SweepCursor<Name>) => boolean,
  ) {
    this.#work = work;
    this.#shouldContinue = shouldContinue;
    this.#unconfirmed = new UnconfirmedFailures(work);
    this.#counts = start;
    this.#cursor = cursor;
    this.#ended = new Set();
    this.#past = new Set(done.map((name) => JSON.stringify(name)));
  }

  async run(): Promise<Counts & { readonly cursor?: string | undefined }> {
    for (;;) {
      await this.#readPage();
      try {
        await this.#processAll(this.#page.items.filter((record) => !this.#ended.has(record)));
        if (this.#isStopped) {
          await this.#settle();
          return this.#progress();
        }
        if (this.#page.cursor === undefined) {
          await this.#settle();
          this.#cursor = undefined;
          return this.#progress();
        }
        if (this.#unconfirmed.size > 0) this.#before ??= this.#progressWithin();
        this.#cursor = this.#page.cursor;
        if (this.#report()) continue;
        await this.#settle();
        return this.#progress();
      } catch (outage) {
        this.#shouldContinue(this.#before ?? this.#progressWithin());
        throw outage;
      }
    }
  }

  async #readPage(): Promise<void> {
    this.#page = await this.#work.read(this.#cursor);
    const isPast = (record: T) => this.#past.has(JSON.stringify(this.#work.nameOf(record)));
    this.#ended = new Set(this.#page.items.filter(isPast));
    this.#past.clear();
    const { unread } = this.#page;
    if (unread) this.#addFailure(unread.name, unread.error);
  }

  /** Processes records, and after them those that are to be processed again. */
  async #processAll(records: readonly T[]): Promise<void> {
    const queue = [...records];
    let outage: unknown;
    const processNext = async () => {
      while (outage === undefined) {
        const record = queue.shift();
        if (record === undefined) return;
        try {
          queue.push(...(await this.#process(record)));
        } catch (error) {
          outage ??= error;
        }
      }
    };
    await Promise.all(Array.from({ length: this.#work.concurrency }, processNext));
    if (outage !== undefined) throw outage;
  }

  /** Returns the records that are to be processed again. Throws the error of an outage. */
  async #process(record: T): Promise<readonly T[]> {
    // A record of an earlier page has no place at which another sweep could continue.
    const isOfPage = this.#page.items.includes(record);
    const checkpoint = (cursor: string) => !isOfPage || this.#checkpoint(cursor);
    try {
      const outcome = await this.#work.process(record, checkpoint);
      this.#counts = this.#work.add(this.#counts, outcome);
    } catch (error) {
      if (this.#unconfirmed.areMadeBy(error)) {
        this.#unconfirmed.add(record, error);
        return [];
      }
      this.#fail(record, error);
    }
    this.#ended.add(record);
    const { failed, again } = this.#unconfirmed.succeeded(record);
    for (const [other, error] of failed) this.#fail(other, error);
    if (this.#unconfirmed.size === 0) this.#before = undefined;
    return again;
  }

  #checkpoint(cursor: string): boolean {
    this.#cursor = cursor;
    this.#isStopped = !this.#report();
    return !this.#isStopped;
  }

  /** Decides each unconfirmed failure. Throws the error of an outage. */
  async #settle(): Promise<void> {
    await this.#processAll(this.#unconfirmed.lastChance());
    for (const [record, error] of this.#unconfirmed.end()) this.#fail(record, error);
  }

  #fail(record: T, error: unknown): void {
    this.#addFailure(this.#work.nameOf(record), error);
    this.#ended.add(record);
  }

  #addFailure(name: Name, error: unknown): void {
    const reason = error instanceof DomainError ? error.reason : "INTERNAL";
    this.#work.onFailed(name, error);
    const { failed, failures } = this.#counts;
    this.#counts = {
      ...this.#counts,
      failed: failed + 1,
      failures: [...failures, { ...name, reason }].slice(0, maxReports),
    };
  }

  #report(): boolean {
    return this.#shouldContinue(this.#before ?? this.#progress());
  }

  #progress(): Counts & { readonly cursor?: string | undefined } {
    return { ...this.#counts, cursor: this.#cursor };
  }

  #progressWithin(): Counts & SweepCursor<Name> {
    const ended = this.#page.items.filter((record) => this.#ended.has(record));
    const done = ended.map(this.#work.nameOf);
    return { ...this.#progress(), done: done.length > 0 ? done : undefined };
  }
}
