/** Counts what DynamoDB throttles: the tables of the requests, and samples of hot keys. */
import { createHash } from "node:crypto";
import type { StoreTallies } from "../../ports/tallies.ts";
import type { TargetName } from "../../words/target-name.ts";
import type { Partition } from "./requests.ts";

/** One in so many throttled requests of targets, or of accounts, is a sample. */
const sampleEvery = 10;

/** The most targets, or accounts, that are kept, because each is a time series of its own. */
const maxSampled = 100;

/** Finds the target or the account of whose records a partition is, by its hash key. */
export interface HotKeys {
  readonly targetOf: (pk: string) => TargetName | undefined;
  /** The account as `<program>#<user>`. */
  readonly accountOf: (pk: string) => string | undefined;
}

/** Counts the partitions that an attempt of a request says are throttled. */
export type CountThrottles = (partitions: readonly Partition[]) => void;

export function createThrottleCounts(
  tallies: Pick<StoreTallies, "throttles" | "targetSamples" | "accountSamples">,
  { targetOf, accountOf }: HotKeys,
): CountThrottles {
  const sampleTargets = createSampler(tallies.targetSamples);
  const sampleAccounts = createSampler(tallies.accountSamples);

  function labelsOfTarget(pk: string) {
    const target = targetOf(pk);
    return (
      target && { target_type: target.type, target_hash: hashOf(`${target.type}#${target.id}`) }
    );
  }

  function labelsOfAccount(pk: string) {
    const account = accountOf(pk);
    return account === undefined ? undefined : { account_hash: hashOf(account) };
  }

  return (partitions) => {
    for (const table of new Set(partitions.map((partition) => partition.table))) {
      tallies.throttles.inc({ table });
    }
    const keys = [...new Set(partitions.flatMap(({ pk }) => pk ?? []))];
    sampleTargets(keys.flatMap((pk) => labelsOfTarget(pk) ?? []));
    sampleAccounts(keys.flatMap((pk) => labelsOfAccount(pk) ?? []));
  };
}

/** A counter of samples by their labels, as far as it is used here. */
interface Samples<Labels> {
  inc(labels: Labels): void;
  remove(labels: Labels): void;
}

/** Returns what counts samples of the labels of one request. Each of them counts once. */
function createSampler<Labels extends Readonly<Record<string, string>>>(samples: Samples<Labels>) {
  /** The labels in the order of the latest samples. */
  const sampled = new Map<string, Labels>();
  let throttled = 0;

  function sample(id: string, labels: Labels): void {
    throttled += 1;
    if (throttled % sampleEvery !== 0) return;
    samples.inc(labels);
    sampled.delete(id);
    sampled.set(id, labels);
    const [oldest] = sampled;
    if (sampled.size <= maxSampled || oldest === undefined) return;
    sampled.delete(oldest[0]);
    samples.remove(oldest[1]);
  }

  return (all: readonly Labels[]): void => {
    const different = new Map(all.map((labels) => [Object.values(labels).join(), labels]));
    for (const [id, labels] of different) sample(id, labels);
  };
}

/** Stands for the name of a user, or for a target that may be named after its owner. */
const hashOf = (name: string): string =>
  createHash("sha256").update(name).digest("hex").slice(0, 12);
