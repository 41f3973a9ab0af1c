/** The metrics of the keys and certificates of a process. */
import { Gauge, type Registry } from "prom-client";
import type { Milliseconds } from "../words/units.ts";

/** How long ago keys were read or fetched, by what they are for. */
export type KeyAges = Readonly<Record<string, () => Milliseconds>>;

export function exportKeyAges(registry: Registry, ages: KeyAges): void {
  new Gauge({
    name: "meguri_key_age_seconds",
    help: "How long ago keys, certificates or what verifies callers were read or fetched.",
    labelNames: ["keys"],
    registers: [registry],
    collect() {
      for (const [keys, ageMs] of Object.entries(ages)) this.set({ keys }, ageMs() / 1_000);
    },
  });
}
