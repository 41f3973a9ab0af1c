/** The metrics that are kept where something happens, before a registry knows them. */
import { Counter, Gauge, Histogram } from "prom-client";
import type { Milliseconds } from "../words/units.ts";

/**
 * A counter whose labels are written once and remembered, as those of the library's histograms are:
 * a server may have thousands of them, and writing all again would hold up its calls.
 */
class RememberedCounter<Label extends string> extends Counter<Label> {
  /** Is what a registry reads when it writes a page. */
  async getForPromString() {
    const { values, ...family } = await this.get();
    return {
      ...family,
      values: values.map(({ labels, value }) => ({ sharedLabels: labels, value })),
    };
  }
}

export const createCounter = <Label extends string>(
  name: string,
  help: string,
  labelNames: readonly Label[] = [],
): Counter<Label> => new RememberedCounter({ name, help, labelNames, registers: [] });

export const createGauge = <Label extends string>(
  name: string,
  help: string,
  labelNames: readonly Label[] = [],
): Gauge<Label> => new Gauge({ name, help, labelNames, registers: [] });

/** By the upper bounds of its buckets; those of seconds if absent. */
export const createHistogram = <Label extends string>(
  name: string,
  help: string,
  labelNames: readonly Label[],
  buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
): Histogram<Label> => new Histogram({ name, help, labelNames, buckets, registers: [] });

/** The attempts of requests to the store. */
export interface StoreTallies {
  /** A request for several tables counts for each of them. */
  readonly requests: Counter<"operation" | "table" | "result">;
  readonly seconds: Histogram<"operation">;
  /** Requests that end as STORE_REFUSES, for each of their tables. */
  readonly refusals: Counter<"operation" | "table" | "code">;
  readonly units: Counter<"table" | "kind">;
  /** The attempts that were throttled. */
  readonly throttles: Counter<"table">;
  /** One in ten throttled attempts for records of targets; the 100 targets with the latest ones. */
  readonly targetSamples: Counter<"target_type" | "target_hash">;
  /** The same for records of accounts. */
  readonly accountSamples: Counter<"account_hash">;
}

/** The counts of the commit engine: its commits, and the calls that wait in it. */
export interface CommitTallies {
  /** The attempts of transactions. */
  readonly results: Counter<"result">;
  /** The calls of each transaction that was sent. */
  readonly batchCalls: Histogram;
  /** The calls without an answer. */
  readonly queuedCalls: Gauge;
  /** The batches that wait to send a request again. */
  readonly retriesWaiting: Gauge;
}

/** The counts that servers and workers have in common. */
export interface Tallies {
  readonly store: StoreTallies;
  readonly commits: CommitTallies;
  /** How far this clock is proven to be off the store's, in ms: positive when it is ahead. */
  clockSkewMs(): Milliseconds;
  /** Background tasks that were not done. */
  readonly droppedTasks: Counter;
  /** Reports that were not sent, or whose arrival is uncertain. */
  readonly failedReports: Counter<"kind">;
}
