/** Reads the text of stored items, as `textOf` writes it. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Item } from "../../../src/platform/dynamodb/sdk/attributes.ts";
import type { StoredItem } from "../stored-items/recorder.ts";

/** Returns the items in the order in which they were written, each as a whole. */
export function parseItems(text: string): Omit<StoredItem, "kind">[] {
  const before = new Map<string, Item>();
  let step = "";
  const stored: Omit<StoredItem, "kind">[] = [];
  for (const line of text.split("\n").filter((each) => each !== "")) {
    if (line.startsWith("# ")) {
      step = line.slice(2);
      continue;
    }
    const { op, table, key, changes, gone } = parseLine(line);
    const name = JSON.stringify([table, key]);
    const item = { ...before.get(name), ...key, ...changes } as Item;
    for (const attribute of gone) delete item[attribute];
    before.set(name, op === "put" ? item : key);
    stored.push({ step, op, table, item: op === "put" ? item : key });
  }
  return stored;
}

type Head = Pick<StoredItem, "op" | "table">;

function parseLine(line: string) {
  const [op, table] = line.split(" ", 2) as [Head["op"], Head["table"]];
  const text = new Cursor(line, op.length + table.length + 1);
  const keys: AttributeValue[] = [];
  while (text.take(' "')) keys.push(text.value('"'));
  const changes: Item = {} as Item;
  const gone: string[] = [];
  while (text.take(" ")) {
    if (text.take("-")) gone.push(text.word());
    else Object.assign(changes, text.attribute());
  }
  const [pk, sk] = keys;
  return { op, table, key: { pk, ...(sk && { sk }) } as Item, changes, gone };
}

/** Reads values from a place of a line on. */
class Cursor {
  private readonly line: string;
  private at: number;

  constructor(line: string, at: number) {
    this.line = line;
    this.at = at;
  }

  /** Goes behind the text and returns true, if it is here. */
  take(text: string): boolean {
    const isHere = this.line.startsWith(text, this.at);
    if (isHere) this.at += text.length;
    return isHere;
  }

  /** A name or a number. */
  word(): string {
    return this.match(/[^ =\]}]+/y);
  }

  attribute(): Record<string, AttributeValue> {
    const name = this.word();
    this.match(/=/y);
    return { [name]: this.value() };
  }

  /** A value; with `taken` the first character of it has been taken. */
  value(taken = ""): AttributeValue {
    this.at -= taken.length;
    if (this.line[this.at] === '"') return { S: JSON.parse(this.match(/"(?:[^"\\]|\\.)*"/y)) };
    if (this.take("[")) return { L: this.until("]", () => this.value()) };
    if (this.take("{")) return { M: Object.assign({}, ...this.until("}", () => this.attribute())) };
    const word = this.word();
    if (word === "true" || word === "false") return { BOOL: word === "true" };
    if (word.startsWith("0x")) return { B: Buffer.from(word.slice(2), "hex") };
    return { N: word };
  }

  /** What is separated by spaces, up to the end. */
  private until<T>(end: string, next: () => T): T[] {
    const found: T[] = [];
    while (!this.take(end)) {
      this.take(" ");
      found.push(next());
    }
    return found;
  }

  private match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const [found] = pattern.exec(this.line) ?? [];
    if (!found) throw new Error(`not the text of an item at ${this.at}: ${this.line}`);
    this.at += found.length;
    return found;
  }
}
