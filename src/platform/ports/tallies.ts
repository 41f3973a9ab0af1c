/** Plain counts of a process, kept where something happens and read when metrics are asked for. */
import type { Milliseconds } from "../words/units.ts";

/** How often something has happened, by the values of its labels. */
export class Counts<Label extends string> {
  readonly #all = new Map<string, { readonly labels: Record<Label, string>; count: number }>();

  add(labels: Record<Label, string>, count = 1): void {
    const key = Object.values(labels).join("\n");
    const known = this.#all.get(key);
    if (known) known.count += count;
    else this.#all.set(key, { labels, count });
  }

  all(): Iterable<{ readonly labels: Record<Label, string>; readonly count: number }> {
    return this.#all.values();
  }
}

/** How many values were at most as large as each of some bounds. */
export class Distribution {
  /** The upper bounds, in ascending order. */
  readonly bounds: readonly number[];
  /** How many values are in the bucket of each bound, and not in an earlier one. */
  readonly counts: number[];
  count = 0;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = bounds.map(() => 0);
  }

  add(value: number): void {
    this.count += 1;
    this.sum += value;
    const at = this.bounds.findIndex((bound) => value <= bound);
    if (at >= 0) this.counts[at] = (this.counts[at] ?? 0) + 1;
  }
}

/** Of requests and calls, in seconds. */
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Distributions of seconds by a name, such as that of an operation. */
export class Durations {
  readonly byName = new Map<string, Distribution>();

  add(name: string, ms: Milliseconds): void {
    const known = this.byName.get(name);
    const distribution = known ?? new Distribution(bounds);
    if (!known) this.byName.set(name, distribution);
    distribution.add(ms / 1_000);
  }
}

/** The attempts of requests to the store. */
export interface StoreTallies {
  /** A request for several tables counts for each of them. */
  readonly requests: Counts<"operation" | "table" | "result">;
  /** By operation. */
  readonly seconds: Durations;
  readonly units: Counts<"table" | "kind">;
}

/** What the commit engine has done, and what waits in it. */
export interface CommitTallies {
  /** The attempts of transactions. */
  readonly results: Counts<"result">;
  /** The calls of each transaction that was sent. */
  readonly batchCalls: Distribution;
  /** The calls without an answer. */
  queuedCalls: number;
  /** The batches that wait to send a request again. */
  retriesWaiting: number;
}

/** The counts that servers and workers have in common. */
export interface Tallies {
  readonly store: StoreTallies;
  readonly commits: CommitTallies;
  /** How far this clock is proven to be off the store's, in ms: positive when it is ahead. */
  clockSkewMs(): Milliseconds;
  /** Background tasks that were not done. */
  droppedTasks(): number;
  /** Reports that were not sent, or whose arrival is uncertain. */
  readonly failedReports: Counts<"kind">;
}

/** The calls of a server. Methods are named as `meguri.points.v1.PointsService/GrantPoints`. */
export interface CallTallies {
  readonly calls: Counts<"method" | "service" | "reason">;
  /** By method. */
  readonly seconds: Durations;
  /** How many are open, by method. */
  readonly streams: ReadonlyMap<string, number>;
  readonly refusedBeforeBody: Counts<"reason">;
  /** The bytes of bodies that were received and not handed on yet. */
  readonly bodyBytes: number;
}
