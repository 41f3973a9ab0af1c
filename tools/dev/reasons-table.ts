/** Writes the table of reasons into a markdown document, from that in words/reasons.ts. */
import { type Reason, reasons, reasonTable } from "../../src/platform/words/reasons.ts";

const begin = "<!-- reasons: generated from the table in src/platform/words -->";
const end = "<!-- end of reasons -->";

/** The document with the table of reasons between its two markers. Throws when one is missing. */
export function withReasonsTable(markdown: string): string {
  const [before, rest, ...others] = markdown.split(begin);
  const [, after, ...more] = rest?.split(end) ?? [];
  if (before === undefined || after === undefined || others.length + more.length > 0) {
    throw new Error(`the document needs one line "${begin}" and one line "${end}" after it`);
  }
  return `${before}${begin}\n${table()}\n${end}${after}`;
}

function table(): string {
  return [
    "| reason | code | metadata | what it means | send again? |",
    "|---|---|---|---|---|",
    ...reasons.map(
      (reason) =>
        `| \`${reason}\` | ${reasonTable[reason].code} | ${metadata(reason)} ` +
        `| ${reasonTable[reason].meaning} | ${sendAgain(reason)} |`,
    ),
  ].join("\n");
}

/** The names with their types; "?" says that an error may be without it. */
const metadata = (reason: Reason): string =>
  Object.entries(reasonTable[reason].metadata ?? {})
    .map(([name, type]) => `\`${name}\` ${type}`)
    .join(", ");

function sendAgain(reason: Reason): string {
  const { retryable, retryDelayMs, advice } = reasonTable[reason];
  if (!retryable) return `no: ${advice}`;
  if (retryDelayMs === undefined) return `yes: ${advice}`;
  return `yes, after ${retryDelayMs / 1_000} s: ${advice}`;
}
