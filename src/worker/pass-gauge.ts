/** A gauge of what a pass of the reconciler or a sweep has read, which vanishes when it is old. */
import { Gauge, type Registry } from "prom-client";

interface PassGauge {
  /** Sets what the last pass on this worker has read; undefined when it has failed. */
  set(samples: Iterable<readonly [labelValue: string, value: number]> | undefined): void;
}

/** How many values of a label are exported, the largest ones; the others add up to `other`. */
const maxValues = 100;

/**
 * Numbers are dropped after this time, because they may have changed since. The reconciler begins a
 * pass every 30 s, on any of the workers, and a worker a sweep every second. Both take longer while
 * Temporal or a long list slows them down.
 */
const keptMs = 180_000;

/**
 * Creates a gauge with one label or none (then with the empty text as its value). A pass runs on
 * any of the workers, so one that has had none for `keptMs` exports nothing: a number that may have
 * changed since would hide that.
 */
export function createPassGauge(
  registry: Registry,
  name: string,
  help: string,
  label?: string,
): PassGauge {
  let shown: ReadonlyMap<string, number> = new Map();
  let setAt = 0;
  new Gauge({
    name,
    help,
    labelNames: label === undefined ? [] : [label],
    registers: [registry],
    collect() {
      this.reset();
      if (label === undefined) this.remove();
      if (performance.now() - setAt > keptMs) return;
      for (const [value, number] of shown) {
        if (label === undefined) this.set(number);
        else this.set({ [label]: value }, number);
      }
    },
  });
  return {
    set(samples = []) {
      setAt = performance.now();
      shown = limited(samples);
    },
  };
}

function limited(samples: Iterable<readonly [string, number]>): ReadonlyMap<string, number> {
  const kept = new Map<string, number>();
  for (const [value, number] of [...samples].sort(([, a], [, b]) => b - a)) {
    const name = kept.size < maxValues ? value : "other";
    kept.set(name, (kept.get(name) ?? 0) + number);
  }
  return kept;
}
