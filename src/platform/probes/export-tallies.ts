/** Exports plain counts as metrics, which are read at each scrape. */
import { Counter, Gauge, type Metric, type Registry } from "prom-client";
import type { Counts, Distribution } from "../ports/tallies.ts";

/** The name and the help of a family. */
interface Family {
  readonly name: string;
  readonly help: string;
}

/**
 * Exports counts as they are: a Counter of the library would hash the labels of each again. As
 * shared labels they are written once and remembered, because a server may have thousands of them.
 */
export function exportCounts<Label extends string>(
  registry: Registry,
  family: Family,
  counts: Counts<Label>,
): void {
  exportValues(registry, { ...family, type: "counter" }, () =>
    Array.from(counts.all(), ({ labels, count }) => ({ sharedLabels: labels, value: count })),
  );
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
  exportValues(registry, { ...family, type: "histogram" }, () =>
    [...byValue()].flatMap(([value, distribution]) =>
      samplesOf(family.name, value === "" ? {} : { [label]: value }, distribution),
    ),
  );
}

/** Registers a metric that keeps nothing itself, as the library reads its own ones. */
function exportValues(
  registry: Registry,
  family: Family & { readonly type: "counter" | "histogram" },
  read: () => readonly Sample[],
): void {
  const get = async () => ({ ...family, aggregator: "sum", values: read() });
  registry.registerMetric({ ...family, get } as unknown as Metric);
}

interface Sample {
  readonly labels?: Labels;
  readonly sharedLabels?: Labels;
  readonly value: number;
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
