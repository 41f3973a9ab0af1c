/**
 * The deliberate breaks of the contract, each with its reason; `breaking.ts` permits them. An entry
 * goes once `main` has the change: the check then prints "no longer needed".
 */
import type { BreakingException } from "./contract-breaks.ts";

/** The files that had no go_package, by package. */
const withoutGoPackage = {
  bulkgrants: ["bulk_grant", "bulk_grant_service"],
  notifications: ["notification", "notification_service"],
  points: [
    "balance",
    "difference",
    "forecast",
    "ledger_entry",
    "points_service",
    "program_verification",
  ],
  programs: ["program", "program_service"],
  reactions: ["reaction", "reaction_service", "target"],
  reservations: ["reservation", "reservation_service"],
  testing: ["clock_service"],
};

export const breakingExceptions: readonly BreakingException[] = Object.entries(
  withoutGoPackage,
).flatMap(([name, files]) =>
  files.map((file) => ({
    rules: ["FILE_SAME_GO_PACKAGE"],
    file: `proto/meguri/${name}/v1/${file}.proto`,
    message: /"go_package" changed from "" to "meguri\.internal\//,
    reason: "Go needs it; without one, no Go code could be generated except in managed mode",
  })),
);
