/** The view that operators have of a hold's run: current details, at the end search attributes. */
import { defineSearchAttributeKey } from "@temporalio/common";
import { upsertSearchAttributes, workflowInfo } from "@temporalio/workflow";
import type { HoldStep } from "../../src/holds/contract/holds.ts";
import type { HoldInput } from "../../src/holds/contract/payloads.ts";
import { searchAttributes } from "../../src/platform/contract/search-attributes.ts";
import { withActor } from "../../src/platform/words/caller.ts";
import { escapeMarkdown } from "../../src/platform/words/markdown.ts";
import { quantity } from "../../src/platform/words/quantities.ts";
import { byOf } from "../change-text.ts";

const stateKey = defineSearchAttributeKey(searchAttributes.state, "KEYWORD");
const actorKey = defineSearchAttributeKey(searchAttributes.actor, "KEYWORD_LIST");

/**
 * Sets the state of a hold that was not captured, and who released it. One that was captured needs
 * no state, as a reservation that is done: Running says that it is HELD, and Completed without a
 * state that it is CAPTURED.
 */
export function upsertEnd({ state, release }: HoldStep): void {
  if (state === "CAPTURED") return;
  const actors = workflowInfo().typedSearchAttributes.get(actorKey) ?? [];
  upsertSearchAttributes([
    { key: stateKey, value: state },
    ...(release ? [{ key: actorKey, value: [...withActor(actors, release.caller)] }] : []),
  ]);
}

/** Who holds how much until when and why, and what became of it, as Markdown. */
export function detailsOf(input: HoldInput, step: HoldStep): string {
  const { hold_id, user_id, points, reason = "", cause, held_by = "" } = input;
  return [
    `${escapeMarkdown(`${quantity(points, "point")} of ${user_id}`)}. ${stateOf(step)}`,
    [
      `- reason: ${escapeMarkdown(reason) || "none given"}`,
      ...(cause ? [`- cause: ${escapeMarkdown(cause)}`] : []),
      `- held by: ${escapeMarkdown(held_by) || "unknown"}`,
      // The Web UI may cut the last line, so it is one that the title of the page has as well.
      `- hold: ${escapeMarkdown(hold_id)}`,
    ].join("\n"),
  ].join("\n\n");
}

function stateOf({ state, until, release, ...points }: HoldStep): string {
  const { captured_points, released_points: released } = points;
  const captured = `${captured_points} captured`;
  switch (state) {
    case "HELD":
      return `Held until ${until}, ${captured} so far.`;
    case "CAPTURED":
      return `Ended by a capture: ${captured}, ${released} released.`;
    case "RELEASED":
      return `Released${release ? ` ${byOf(release)}` : ""}: ${captured}, ${released} released.`;
    case "EXPIRED":
      return `Timed out at ${until}: ${captured}, ${released} released.`;
  }
}
