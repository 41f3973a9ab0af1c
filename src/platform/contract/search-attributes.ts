/** The search attributes by which operators find workflows. */

/** The search attributes by which operators find workflows. */
export const searchAttributes = {
  program: "MeguriProgram",
  user: "MeguriUser",
  executeTime: "MeguriExecuteTime",
  state: "MeguriState",
  points: "MeguriPoints",
  caller: "MeguriCaller",
  /** Why a reservation waits or has failed: a reason of `src/platform/words/errors.ts`. */
  reason: "MeguriReason",
  /** The month that a month end is of, such as `2026-11`. */
  month: "MeguriMonth",
  /** Who began or changed what a run is of: the subjects of callers, see `withActor`. */
  actor: "MeguriActor",
} as const;
