/** What operators see of a bulk grant's run: current details and search attributes. */
import { defineSearchAttributeKey } from "@temporalio/common";
import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from "@temporalio/workflow";
import type { BulkGrantCounts, BulkGrantView } from "../src/contract/bulk-grants.ts";
import { searchAttributes } from "../src/contract/search-attributes.ts";
import { displayCaller } from "../src/domain/caller.ts";
import { escapeMarkdown } from "../src/domain/markdown.ts";

const programKey = defineSearchAttributeKey(searchAttributes.program, "KEYWORD");
const stateKey = defineSearchAttributeKey(searchAttributes.state, "KEYWORD");
const pointsKey = defineSearchAttributeKey(searchAttributes.points, "INT");
const callerKey = defineSearchAttributeKey(searchAttributes.caller, "KEYWORD");
const executeTimeKey = defineSearchAttributeKey(searchAttributes.executeTime, "DATETIME");

/** Shows a bulk grant. Changes the search attributes only when one has changed. */
export function createBulkView(): (view: BulkGrantView) => void {
  const { typedSearchAttributes: atStart } = workflowInfo();
  // A run that was started by hand, or from a source, has none.
  let listed = textOf({
    program: atStart.get(programKey),
    state: atStart.get(stateKey),
    points: atStart.get(pointsKey),
    caller: atStart.get(callerKey),
    executeTime: atStart.get(executeTimeKey),
  });
  return (view) => {
    setCurrentDetails(markdownOf(view));
    const next = listedOf(view);
    if (textOf(next) === listed) return;
    listed = textOf(next);
    upsertSearchAttributes([
      { key: programKey, value: next.program },
      { key: stateKey, value: next.state },
      { key: pointsKey, value: next.points },
      { key: callerKey, value: next.caller },
      // The value null removes the attribute.
      { key: executeTimeKey, value: next.executeTime ?? null },
    ]);
  };
}

const textOf = (attributes: Readonly<Record<string, unknown>>) => JSON.stringify(attributes);

const listedOf = (view: BulkGrantView) => ({
  program: view.program_id,
  state: view.step === "PAUSED" ? view.step : view.state,
  points: view.total_points,
  caller: view.submitter.service,
  executeTime: view.execute_time === undefined ? undefined : new Date(view.execute_time),
});

/** The state, what is waited for, people, counts and the digest, as an operator reads them. */
function markdownOf(view: BulkGrantView): string {
  const { state, details, title, source, submitter, starter, approvers, counts } = view;
  const { required_approval_count: required } = view;
  const approved = escapeMarkdown(approvers.map(displayCaller).join(", "));
  const from = source === undefined ? "" : ` from ${source}`;
  return [
    `**${state}**: ${details}`,
    "",
    `- digest: \`${view.digest}\``,
    ...(title === undefined ? [] : [`- title: ${escapeMarkdown(title)}`]),
    `- bulk grant: ${escapeMarkdown(view.bulk_grant_id)}, revision ${view.revision}`,
    `- in all: ${number(view.total_points)} points, ${number(view.row_count)} rows`,
    ...(view.summary ?? []).map((line) => `- ${line}`),
    `- submitted by: ${escapeMarkdown(displayCaller(submitter) + from)}`,
    ...(starter ? [`- started by: ${escapeMarkdown(displayCaller(starter))}`] : []),
    `- approved by: ${required === 0 ? "not required" : approved || "nobody yet"}` +
      (required > 1 ? ` (${required} are required)` : ""),
    ...(view.execute_time === undefined ? [] : [`- not before: ${view.execute_time}`]),
    ...countLines(counts),
  ].join("\n");
}

function countLines(counts: BulkGrantCounts): string[] {
  const rows: [string, number][] = [
    ["granted", counts.granted_count],
    ["already granted before", counts.already_granted_count],
    ["failed", counts.failed_count],
    ["invalid", counts.invalid_count],
    ["not run", counts.not_run_count],
  ];
  const codes = Object.entries(counts.problem_counts);
  return [
    `- rows: ${rows.map(([name, count]) => `${number(count)} ${name}`).join(", ")}`,
    ...codes.map(([code, count]) => `  - ${escapeMarkdown(code)}: ${number(count)}`),
  ];
}

const number = (value: number) => value.toLocaleString("en");
