/** Writes who made a change of a reservation or a hold, and why. */
import type { ChangeView } from "../src/platform/contract/changes.ts";
import { displayCaller } from "../src/platform/words/caller.ts";
import { escapeMarkdown } from "../src/platform/words/markdown.ts";

/** Such as `by yuki via desk (asked by support)`, as Markdown. */
export const byOf = ({ caller, reason }: ChangeView): string =>
  escapeMarkdown(`by ${displayCaller(caller)}${reason === "" ? "" : ` (${reason})`}`);
