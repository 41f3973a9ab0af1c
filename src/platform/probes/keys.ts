/** The metrics of the keys and certificates of a process. */
import { X509Certificate } from "node:crypto";
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

/** The certificates that a process uses now, in PEM, by what they are for. */
export type UsedCertificates = Readonly<Record<string, () => string>>;

/** The certificates of authorities: one of them is enough, and a new one is beside the old one. */
const ofAuthorities = /(^|_)ca$/;

/**
 * Exports when each of them ends. Of several in one file, the first that does: all of a chain are
 * needed. Of authorities the last one. What cannot be read is left out, so that the page goes on.
 */
export function exportCertificateEnds(registry: Registry, certificates: UsedCertificates): void {
  new Gauge({
    name: "meguri_certificate_end_timestamp_seconds",
    help: "When a certificate that the process uses ends, since 1970.",
    labelNames: ["certificate"],
    registers: [registry],
    collect() {
      for (const [certificate, pem] of Object.entries(certificates)) {
        const ends = endsOf(pem());
        const end = ofAuthorities.test(certificate) ? Math.max(...ends) : Math.min(...ends);
        if (Number.isFinite(end)) this.set({ certificate }, end / 1_000);
        else this.remove({ certificate });
      }
    },
  });
}

/** When the certificates of a file end; none if one of them is damaged. */
function endsOf(pem: string): readonly number[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  try {
    return found.map((each) => Date.parse(new X509Certificate(each).validTo));
  } catch {
    return [];
  }
}
