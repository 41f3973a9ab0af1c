/** Finds variables with the project's prefix that no process has, such as misspelled ones. */
import { closest } from "fastest-levenshtein";
import type { Report } from "./config-error.ts";

/** The variables of the command `meguri`, which may run in the same shell. */
export const commandVariables: readonly string[] = [
  "MEGURI_URL",
  "MEGURI_TOKEN",
  "MEGURI_CALLER",
  "MEGURI_CA_FILE",
  "MEGURI_CERT_FILE",
  "MEGURI_KEY_FILE",
];

/**
 * Whether a variable is one that Kubernetes adds to all containers of a namespace for a service
 * named `meguri` or `meguri-…`, such as MEGURI_PORT=tcp://10.0.0.1:8080. Nobody configured it.
 */
export const isServiceLink = (name: string, value: string): boolean =>
  /^MEGURI_(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT_\d+_\w+)$/.test(name) ||
  (name.endsWith("_PORT") && /^(tcp|udp|sctp):\/\//.test(value));

/** The part by which names differ. That of AWS_REGION is found with the prefix in front, too. */
const ownPart = (name: string): string => name.replace(/^MEGURI_/, "");

/** Reports each unknown variable, with the known one whose name is the nearest. */
export function reportUnknown(
  names: readonly string[],
  known: readonly string[],
  report: Report,
): void {
  const byOwnPart = new Map(known.map((name) => [ownPart(name), name]));
  for (const name of names) {
    if (!name.startsWith("MEGURI_")) continue;
    if (known.includes(name) || commandVariables.includes(name)) continue;
    const nearest = byOwnPart.get(closest(ownPart(name), [...byOwnPart.keys()]));
    report(name, `is unknown; the nearest name is ${nearest}`);
  }
}
