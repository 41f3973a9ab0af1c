/** The view that operators have of a bulk grant's run: current details and search attributes. */
import { defineSearchAttributeKey } from "@temporalio/common";
import { upsertMemo, upsertSearchAttributes, workflowInfo } from "@temporalio/workflow";
import {
  type BulkGrantView,
  bulkGrantHowToEnd,
} from "../../src/bulk-grants/contract/bulk-grants.ts";
import { searchAttributes } from "../../src/platform/contract/search-attributes.ts";
import { escapeMarkdown } from "../../src/platform/words/markdown.ts";
import { quantity } from "../../src/platform/words/quantities.ts";
import { showDetails } from "../details.ts";
import { createPace } from "./bulk-pace.ts";

const programKey = defineSearchAttributeKey(searchAttributes.program, "KEYWORD");
const stateKey = defineSearchAttributeKey(searchAttributes.state, "KEYWORD");
const pointsKey = defineSearchAttributeKey(searchAttributes.points, "INT");
const callerKey = defineSearchAttributeKey(searchAttributes.caller, "KEYWORD");
const actorKey = defineSearchAttributeKey(searchAttributes.actor, "KEYWORD_LIST");
const executeTimeKey = defineSearchAttributeKey(searchAttributes.executeTime, "DATETIME");

/**
 * Shows a bulk grant; `rowsRun` is whether rows are under way. Changes search attributes and memo
 * only when one has changed.
 */
export function createBulkView(): (view: BulkGrantView, rowsRun: boolean) => void {
  const { typedSearchAttributes: atStart, memo } = workflowInfo();
  const paceOf = createPace();
  // A run that was started by hand, or from a source, has no attributes, and no static details.
  const isByHand = atStart.get(programKey) === undefined;
  let listed = textOf({
    program: atStart.get(programKey),
    state: atStart.get(stateKey),
    points: atStart.get(pointsKey),
    caller: atStart.get(callerKey),
    executeTime: atStart.get(executeTimeKey),
  });
  const summaryAtStart = memo?.summary;
  let summary = summaryAtStart;
  return (view, rowsRun) => {
    const text = markdownOf(view, labelOf(view, rowsRun), paceOf(view));
    showDetails(bulkGrantHowToEnd, text, isByHand);
    const next = listedOf(view, rowsRun);
    if (textOf(next) !== listed) {
      listed = textOf(next);
      upsertSearchAttributes([
        { key: programKey, value: next.program },
        { key: stateKey, value: next.state },
        { key: pointsKey, value: next.points },
        { key: callerKey, value: next.caller },
        // With what else has changed, because an upsert alone would be one more billed action.
        { key: actorKey, value: [...view.actors] },
        // The value null removes the attribute.
        { key: executeTimeKey, value: next.executeTime ?? null },
      ]);
    }
    const isBad = badOutcomes.has(view.state);
    const what = summaryAtStart ?? view.bulk_grant_id;
    const nextSummary = isBad ? `${outcomeOf(view)}: ${what}` : summaryAtStart;
    if (nextSummary === summary) return;
    summary = nextSummary;
    upsertMemo({ summary });
  };
}

/** Runs that end so are Completed like those that granted everything, so their memo says it. */
const badOutcomes: ReadonlySet<string> = new Set(["INVALID", "DONE_WITH_FAILURES"]);

function outcomeOf({ state, row_count, counts }: BulkGrantView): string {
  const { invalid_count, failed_count } = counts;
  const [count, what] = state === "INVALID" ? [invalid_count, "invalid"] : [failed_count, "failed"];
  return `${state}, ${count.toLocaleString("en")} of ${quantity(row_count, "row")} ${what}`;
}

const textOf = (attributes: Readonly<Record<string, unknown>>) => JSON.stringify(attributes);

const listedOf = (view: BulkGrantView, rowsRun: boolean) => ({
  program: view.program_id,
  state: view.step === "PAUSED" && !rowsRun ? view.step : view.state,
  points: view.total_points,
  caller: view.submitter.service,
  executeTime: view.execute_time === undefined ? undefined : new Date(view.execute_time),
});

/** The state as operators read it: rows under way are executed before a pause, or counted. */
function labelOf({ step, state }: BulkGrantView, rowsRun: boolean): string {
  if (step === "PAUSED") return rowsRun ? "PAUSING" : "PAUSED";
  return step === "FINISH" && state === "RUNNING" ? "CANCELLING" : state;
}

/** The view as an operator reads it. */
const markdownOf = (view: BulkGrantView, label: string, pace: readonly string[]): string =>
  [
    `**${label}**: ${view.details}`,
    "",
    ...view.facts,
    ...view.rows,
    ...pace,
    // The Web UI cuts the last line, so it is one that the title of the page has as well.
    `- bulk grant: ${escapeMarkdown(view.bulk_grant_id)}, revision ${view.revision}`,
  ].join("\n");
