/** The entry of the workflow bundle: each exported name is a workflow type. */
export { monthEnd } from "./month-end.ts";
export { removeTarget } from "./purge-target.ts";
export { reconcile } from "./reconcile.ts";
export { reservation } from "./reservation.ts";
export { verifyProgram } from "./verify-program.ts";
