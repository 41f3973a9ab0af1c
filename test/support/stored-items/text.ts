/** Writes stored items as text, without leaving out anything of their bytes. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Item } from "../../../src/platform/dynamodb/sdk/attributes.ts";
import type { StoredItem } from "./recorder.ts";

/**
 * The items under the steps that wrote them, by their keys, one line for each. Of an item that was
 * there before it has what is different, with `-name` for an attribute that is gone. The random ids
 * of uploads are numbered.
 */
export function textOf(stored: readonly Omit<StoredItem, "kind">[]): string {
  const before = new Map<string, Item>();
  const lines = stored.map(({ step, table, op, item }) => {
    const name = nameOf(table, item);
    const earlier = before.get(name) ?? {};
    const changes = op === "put" ? changesOf(earlier, item) : [];
    before.set(name, op === "put" ? item : {});
    return { step, name, line: `${[op, name, ...changes].join(" ")}\n` };
  });
  const sections = [...Map.groupBy(lines, ({ step }) => step)].map(([step, written]) => {
    const sorted = written.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    return `# ${step}\n${sorted.map(({ line }) => line).join("")}`;
  });
  return withNumbers(sections.join("\n"));
}

const nameOf = (table: string, { pk, sk }: Item): string =>
  [table, ...[pk, sk].filter((key) => key !== undefined).map(valueText)].join(" ");

function changesOf(before: Item, { pk: _, sk: __, ...after }: Item): string[] {
  const put = Object.entries(after).map(([name, value]) => `${name}=${valueText(value)}`);
  const known = new Set(
    Object.entries(before).map(([name, value]) => `${name}=${valueText(value)}`),
  );
  const gone = Object.keys(before).filter((name) => !/^[ps]k$/.test(name) && !(name in after));
  return [...put.filter((text) => !known.has(text)), ...gone.map((name) => `-${name}`)].sort();
}

/** A text in quotes, a number without, a list in brackets, a map in braces, bytes in hex. */
function valueText(value: AttributeValue): string {
  if (value.S !== undefined) return JSON.stringify(value.S);
  if (value.N !== undefined) return value.N;
  if (value.BOOL !== undefined) return String(value.BOOL);
  if (value.B !== undefined) return `0x${Buffer.from(value.B).toString("hex")}`;
  if (value.L !== undefined) return `[${value.L.map(valueText).join(" ")}]`;
  if (value.M === undefined) throw new Error(`no text is known for ${Object.keys(value)}`);
  const entries = Object.entries(value.M).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([name, each]) => `${name}=${valueText(each)}`).join(" ")}}`;
}

function withNumbers(text: string): string {
  const ids = [...new Set(text.match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g))];
  return ids.reduce((numbered, id, i) => numbered.replaceAll(id, `upload-${i + 1}`), text);
}
