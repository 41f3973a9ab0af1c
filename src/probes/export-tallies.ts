/** Exports plain counts as metrics, which are read at each scrape. */
import { Counter, Gauge, type Metric, type Registry } from "prom-client";
import type { Counts, Distribution } from "../app/ports/tallies.ts";

/** The name and the help of a family. */
interface Family {
  readonly name: string;
  readonly help: string;
}

export function exportCounts<Label extends string>(
  registry: Registry,
  family: Family,
  labelNames: readonly Label[],
  counts: Counts<Label>,
): void {
  new Counter({
    ...family,
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      for (const { labels, count } of counts.all()) this.inc(labels, count);
    },
  });
}

export function exportGauge(registry: Registry, family: Family, read: () => number): void {
  new Gauge({
    ...family,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}

export function exportCounter(registry: Registry, family: Family, read: () => number): void {
  new Counter({
    ...family,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(read());
    },
  });
}

/**
 * Exports distributions by the value of a label, or one without a label whose value is "". A
 * Histogram of the library can only count values itself.
 */
export function exportHistogram(
  registry: Registry,
  family: Family,
  label: string,
  byValue: () => ReadonlyMap<string, Distribution>,
): void {
  const metric = {
    ...family,
    get: async () => ({
      ...family,
      type: "histogram",
      aggregator: "sum",
      values: [...byValue()].flatMap(([value, distribution]) =>
        samplesOf(family.name, value === "" ? {} : { [label]: value }, distribution),
      ),
    }),
  };
  registry.registerMetric(metric as unknown as Metric);
}

type Labels = Readonly<Record<string, string | number>>;

function samplesOf(name: string, labels: Labels, { bounds, counts, count, sum }: Distribution) {
  let below = 0;
  const buckets = bounds.map((le, i) => {
    below += counts[i] ?? 0;
    return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: below };
  });
  return [
    ...buckets,
    { metricName: `${name}_bucket`, labels: { le: "+Inf", ...labels }, value: count },
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
