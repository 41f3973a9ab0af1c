/** Finds the parts of the first visible sheet of a workbook. */
import { posix } from "node:path";
import { cutToBytes } from "../../../platform/words/display-text.ts";
import { type AttributeOf, readXml, type XmlHandler } from "./read-xml.ts";
import { workbookError } from "./workbook-error.ts";
import type { Parts } from "./zip-parts.ts";

/** The name of a sheet has 31 characters in Excel. */
const maxNameBytes = 124;

/** A workbook has no more sheets, and no part has more relations. */
const maxListed = 10_000;

/** A sheet, by its name for people, with the parts that are needed to read it. */
interface FoundSheet {
  readonly sheetName: string;
  /** The other visible sheets with cells. */
  readonly otherSheetCount: number;
  readonly sheet: string;
  readonly sharedStrings: string | undefined;
  readonly styles: string | undefined;
}

/** A relation of a part to another one. */
interface Relation {
  readonly id: string;
  /** The last part of the type's name, which is the same in strict workbooks. */
  readonly type: string;
  readonly target: string;
}

/**
 * Finds the first sheet that is neither hidden nor a chart, and its parts. Refusal:
 * WORKBOOK_UNREADABLE for a zip file that is no workbook of this format, and for one without such a
 * sheet.
 */
export async function findSheet(parts: Parts): Promise<FoundSheet> {
  if (!parts.has(relationsOf(""))) throw noWorkbook();
  const workbook = (await readRelations(parts, "")).find(({ type }) => type === "officeDocument");
  if (!workbook) throw noWorkbook();
  if (workbook.target.endsWith(".bin")) throw noWorkbook(" but a binary one (.xlsb)");
  const relations = await readRelations(parts, workbook.target);
  const worksheets = new Map(
    relations.flatMap(({ id, type, target }) => (type === "worksheet" ? [[id, target]] : [])),
  );
  const target = (type: string) => relations.find((relation) => relation.type === type)?.target;
  const [first, ...others] = (await readSheets(parts, workbook.target)).flatMap(
    ({ name, id, state }) => {
      const sheet = worksheets.get(id);
      return sheet !== undefined && state === "visible" ? [{ name, sheet }] : [];
    },
  );
  if (!first) throw workbookError("the workbook has no visible sheet with cells");
  return {
    sheetName: cutToBytes(first.name, maxNameBytes),
    otherSheetCount: others.length,
    sheet: first.sheet,
    sharedStrings: target("sharedStrings"),
    styles: target("styles"),
  };
}

const noWorkbook = (but = "") =>
  workbookError(`the file is no workbook of Excel (.xlsx)${but}; save it as .xlsx or as CSV`);

/** The part that has the relations of a part, or of the whole file. */
const relationsOf = (part: string): string =>
  posix.join(posix.dirname(part), "_rels", `${posix.basename(part)}.rels`);

async function readRelations(parts: Parts, part: string): Promise<Relation[]> {
  const folder = `/${posix.dirname(part)}`;
  return readList(parts, relationsOf(part), "/Relationships/Relationship", (attributeOf) => ({
    id: attributeOf("Id") ?? "",
    type: attributeOf("Type")?.split("/").at(-1) ?? "",
    target: posix.resolve(folder, attributeOf("Target") ?? "").slice(1),
  }));
}

const readSheets = (parts: Parts, workbook: string) =>
  readList(parts, workbook, "/workbook/sheets/sheet", (attributeOf) => ({
    name: attributeOf("name") ?? "",
    id: attributeOf("id") ?? "",
    state: attributeOf("state") ?? "visible",
  }));

/** Reads the elements of a path. */
async function readList<T>(
  parts: Parts,
  part: string,
  path: string,
  read: (attributeOf: AttributeOf) => T,
): Promise<T[]> {
  const list: T[] = [];
  await readPart(parts, part, {
    onOpen(opened, attributeOf) {
      if (opened !== path) return;
      if (list.length === maxListed) throw workbookError(`${part} has too many elements`);
      list.push(read(attributeOf));
    },
  });
  return list;
}

/** Reads a part to its end. */
export async function readPart(parts: Parts, part: string, handler: XmlHandler): Promise<void> {
  for await (const _ of readXml(part, parts.read(part), handler));
}
