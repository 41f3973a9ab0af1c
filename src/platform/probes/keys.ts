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
 * Exports when each of them ends, and since when it is valid. Of several in one file, the first
 * that ends: all of a chain are needed. Of authorities the last one. What cannot be read is left
 * out, so that the page goes on.
 */
export function exportCertificateEnds(registry: Registry, certificates: UsedCertificates): void {
  const read = Object.entries(certificates).map(
    ([certificate, pem]) => [certificate, reading(pem, ofAuthorities.test(certificate))] as const,
  );
  const exportTime = (name: string, help: string, timeOf: (found: X509Certificate) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ["certificate"],
      registers: [registry],
      collect() {
        for (const [certificate, current] of read) {
          const found = current();
          if (found) this.set({ certificate }, timeOf(found) / 1_000);
          else this.remove({ certificate });
        }
      },
    });
  exportTime(
    "meguri_certificate_end_timestamp_seconds",
    "When a certificate that the process uses ends, since 1970.",
    endOf,
  );
  exportTime(
    "meguri_certificate_start_timestamp_seconds",
    "Since when a certificate that the process uses is valid, since 1970.",
    ({ validFrom }) => Date.parse(validFrom),
  );
}

/** Reads the certificate that counts, anew only when the PEM has changed since the last time. */
function reading(pem: () => string, isAuthority: boolean): () => X509Certificate | undefined {
  let known: { readonly text: string; readonly found: X509Certificate | undefined } | undefined;
  return () => {
    const text = pem();
    if (known?.text !== text) {
      known = { text, found: certificatesIn(text).at(isAuthority ? -1 : 0) };
    }
    return known.found;
  };
}

const endOf = ({ validTo }: X509Certificate): number => Date.parse(validTo);

/** The certificates of a file by their ends; none if one of them is damaged. */
function certificatesIn(pem: string): readonly X509Certificate[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  try {
    return found.map((each) => new X509Certificate(each)).sort((a, b) => endOf(a) - endOf(b));
  } catch {
    return [];
  }
}
