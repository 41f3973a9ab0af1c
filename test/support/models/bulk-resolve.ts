/** Puts requests in place of the templates of a history, as they follow from what exists. */
import { activeStates } from "../../../src/domain/bulk-grant.ts";
import type { Oracle } from "./bulk-oracle.ts";
import type { Head, Raw, Request } from "./bulk-requests.ts";
import type { CallTemplate } from "./bulk-templates.ts";

/** Where a history has come to. */
interface Situation {
  readonly oracle: Oracle;
  readonly now: number;
  readonly padding: number;
}

/** One of the bulk grants that exist; 0 is the one that was submitted last. */
export function picked({ oracle }: Situation, pick: number): string | undefined {
  const { ids } = oracle;
  return ids[pick % Math.max(ids.length, 1)];
}

/** Puts a call that fits the state in place of a `fit`. */
export function fitted(run: Situation, call: CallTemplate): CallTemplate {
  if (call.op !== "fit") return call;
  const { oracle } = run;
  const { by, part, sheet } = call;
  const id = picked(run, call.pick) ?? "a";
  const head = headOf(run, id);
  const rows = oracle.rowsOf(id);
  const userId = rows[call.user % Math.max(rows.length, 1)]?.userId || "u0";
  const calls = callsOf[head?.state ?? "DONE"].map(
    (op): CallTemplate =>
      op === "submit"
        ? { op, id, by, sheet }
        : op === "reverse"
          ? { op, id: "rs"[call.user % 2] as string, by, of: id }
          : op === "approve"
            ? { op, id, by, digest: "current" }
            : op === "blocks"
              ? { op, id, part }
              : op === "freeze" || op === "unfreeze"
                ? { op, userId }
                : op === "complete" || op === "finish"
                  ? { op, id, stale: false }
                  : op === "advance"
                    ? { op, id }
                    : { op, id, by },
  );
  return calls[call.choice % calls.length] as CallTemplate;
}

/** What people and workers do in each state. */
const callsOf = {
  VALIDATING: ["blocks", "blocks", "blocks", "complete", "freeze", "unfreeze", "cancel", "submit"],
  INVALID: ["submit", "submit", "unfreeze", "reverse"],
  AWAITING_APPROVAL: ["approve", "approve", "approve", "reject", "cancel", "freeze"],
  REJECTED: ["submit", "reverse", "reject"],
  APPROVED: ["advance", "advance", "freeze", "pause", "resume", "cancel"],
  RUNNING: ["blocks", "blocks", "blocks", "finish", "freeze", "pause", "resume", "cancel"],
  DONE: ["reverse", "submit", "reverse"],
  DONE_WITH_FAILURES: ["retry", "retry", "unfreeze", "submit", "submit", "reverse"],
  CANCELLED: ["submit", "submit", "reverse", "retry"],
} as const satisfies Record<Head["state"], readonly CallTemplate["op"][]>;

/** The request of a template; none where the workflow would send none. */
export function resolve(run: Situation, template: CallTemplate): Request | undefined {
  const { oracle } = run;
  const call = fitted(run, template);
  switch (call.op) {
    case "submit": {
      const { id, by, sheet } = call;
      const executeTime = executeTimeOf(run, id, sheet);
      const rows = rowsOf(run, id, sheet.kind, sheet.rows);
      const replaces =
        sheet.replaces === undefined ? undefined : oracle.revisionOf(id) - sheet.replaces;
      return { op: "submit", id, by, rows, replaces, executeTime };
    }
    case "reverse":
      return { op: "reverse", id: call.id, by: call.by, reverses: call.of, executeTime: undefined };
    case "blocks":
      return work(run, call);
    case "complete":
    case "finish": {
      const { id, stale } = call;
      const head = headOf(run, id);
      if (!head) return { op: "finish", id, run: 1 };
      const back = stale ? 1 : 0;
      if (call.op === "finish") return { op: "finish", id, run: head.run - back };
      return { op: "complete", id, revision: head.revision - back };
    }
    case "approve": {
      const { id, by, digest } = call;
      const current = oracle.revisionOf(id);
      const revision = { current, earlier: Math.max(current - 1, 0), none: 0 }[digest];
      return { op: "approve", id, by, revision };
    }
    case "report":
      return headOf(run, call.id)?.result ? call : undefined;
    case "fit":
      return undefined;
    default:
      return call;
  }
}

export const headOf = ({ oracle }: Situation, id: string): Head | undefined =>
  oracle.ids.includes(id) ? oracle.shown(id).head : undefined;

/** Validates or runs a part, as it follows from the state. */
function work(
  run: Situation,
  { id, part }: Extract<CallTemplate, { readonly op: "blocks" }>,
): Request | undefined {
  const head = headOf(run, id);
  if (!head) return undefined;
  const count = run.oracle.blockCount(id);
  const from = part.from % count;
  const to = Math.min(from + part.count, count);
  const back = part.stale ? 1 : 0;
  const blocks = { id, from, to, limit: part.limit, revision: head.revision };
  const { state } = head;
  if (state === "VALIDATING" || !activeStates.includes(state)) {
    return { op: "validate", ...blocks, revision: head.revision - back };
  }
  return { op: "run", ...blocks, run: head.run - back, diesAfter: part.diesAfter };
}

/** The rows of a sheet that is sent. */
function executeTimeOf(
  { oracle, now }: Situation,
  id: string,
  { kind, executeIn }: Extract<CallTemplate, { readonly op: "submit" }>["sheet"],
): number | undefined {
  if (kind === "same") return oracle.executeTimeOf(id);
  if (kind === "earlier") return oracle.firstOf(id).executeTime;
  return executeIn === undefined ? undefined : now + executeIn;
}

function rowsOf(
  run: Situation,
  id: string,
  kind: Extract<CallTemplate, { readonly op: "submit" }>["sheet"]["kind"],
  rows: readonly Raw[],
): readonly Raw[] {
  const current = run.oracle.rowsOf(id);
  if (kind === "new" || current.length === 0) return padded(run, rows);
  const shown = run.oracle.shown(id).rows;
  const has = (states: readonly string[]) => (_: Raw, i: number) =>
    states.includes(shown[i]?.[2] ?? "");
  switch (kind) {
    case "same":
      return current;
    case "earlier":
      return run.oracle.firstOf(id).rows;
    case "fixed":
      return current.filter((row, i) => !has(["INVALID"])(row, i));
    case "failed":
      return current.filter(has(["FAILED", "NOT_RUN", "INVALID"]));
    case "more":
      return [...current, ...rows];
    case "changed":
      return current.map((row, i) => (i === current.length - 1 ? { ...row, points: 11 } : row));
  }
}

/** Rows of generated users between the first row and the other ones. */
export function padded({ padding }: Situation, rows: readonly Raw[]): readonly Raw[] {
  if (padding === 0 || rows.length === 0) return rows;
  const generated = Array.from({ length: padding }, (_, i) => ({
    userId: `g${i}`,
    points: 1,
    reason: "",
  }));
  return [...rows.slice(0, 1), ...generated, ...rows.slice(1)];
}
