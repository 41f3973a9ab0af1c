/** Holds processes to deploy/policies, and tells what these do not allow. */
import { existsSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

/**
 * The environment of processes that are refused what the policy of their role does not allow.
 * `denied` is the file to which they write each such access.
 */
export function guardedBy(denied: string): Readonly<Record<string, string>> {
  const guard = pathToFileURL(`${import.meta.dirname}/policy-guard.ts`);
  return {
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ""} --import ${guard}`,
    TEST_DENIED_ACCESS: denied,
  };
}

/** What processes have been refused, each as `<role> <action> <resource>`. */
export const deniedIn = (denied: string): string[] =>
  existsSync(denied) ? [...new Set(readFileSync(denied, "utf8").trimEnd().split("\n"))] : [];
