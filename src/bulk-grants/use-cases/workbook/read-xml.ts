/** Reads a part of a workbook as XML: the elements by their paths, slice by slice. */
import { TextDecoder } from "node:util";
import { type SaxesAttributeNS, SaxesParser } from "saxes";
import { DomainError } from "../../../platform/words/errors.ts";
import { nextTurn } from "../in-slices.ts";
import { tooLargeError, workbookError } from "./workbook-error.ts";

/** The shortest rows in XML have some 40 bytes, so that a slice has about 100 of them. */
const sliceBytes = 4 * 2 ** 10;

/** A cell of Excel has 32,767 characters, each of at most 7 bytes when it is escaped. */
const maxTokenBytes = 256 * 2 ** 10;

/** A part of a workbook has less than 20 levels. */
const maxDepth = 64;

/** Of the elements of workbooks: the first as most programs write it, the other when strict. */
const mainNamespaces = new Set([
  "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
  "http://purl.oclc.org/ooxml/spreadsheetml/main",
  "http://schemas.openxmlformats.org/package/2006/relationships",
]);

/** An attribute of an element by its name without a prefix. */
export type AttributeOf = (name: string) => string | undefined;

/** What a part is read into. Paths are such as `/sst/si/t`. */
export interface XmlHandler {
  onOpen?(path: string, attributeOf: AttributeOf): void;
  onClose?(path: string): void;
  /** A text may come in several pieces. */
  onText?(path: string, text: string): void;
}

/**
 * Parses XML in UTF-8, and yields after each slice, which takes its own turn of the event loop.
 * Elements of other namespaces have no path. There are neither entities beyond XML's own nor a
 * document type. Holds one slice, and one tag or text of at most 256 KiB. Throws what the handler
 * throws, and INVALID_REQUEST with WORKBOOK_UNREADABLE or TOO_LARGE.
 */
export async function* readXml(
  name: string,
  bytes: AsyncIterable<Uint8Array>,
  handler: XmlHandler,
): AsyncGenerator<void> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const parser = new SaxesParser({ xmlns: true, fileName: name });
  const paths = [""];
  let tokenBytes = 0;
  const path = () => paths.at(-1) as string;

  parser.on("xmldecl", ({ encoding }) => {
    if (encoding && !/^utf-?8$/i.test(encoding)) {
      throw workbookError(`${name} is in ${encoding}, and not in UTF-8`);
    }
  });
  parser.on("doctype", () => {
    throw workbookError(`${name} has a document type, which workbooks do not have`);
  });
  parser.on("opentag", ({ local, uri, attributes }) => {
    tokenBytes = 0;
    paths.push(`${path()}/${mainNamespaces.has(uri) ? local : `{${uri}}${local}`}`);
    if (paths.length > maxDepth) throw workbookError(`${name} is nested too deeply`);
    handler.onOpen?.(path(), (key) => attributeOf(attributes, key));
  });
  parser.on("closetag", () => {
    tokenBytes = 0;
    handler.onClose?.(path());
    paths.pop();
  });
  const onText = (text: string) => {
    tokenBytes = 0;
    handler.onText?.(path(), text);
  };
  parser.on("text", onText);
  parser.on("cdata", onText);

  const parse = (slice?: Uint8Array) =>
    refuseUnparsed(name, () => {
      parser.write(decoder.decode(slice, { stream: slice !== undefined }));
      if (!slice) parser.close();
    });
  for await (const chunk of bytes) {
    for (let at = 0; at < chunk.length; at += sliceBytes) {
      const slice = chunk.subarray(at, at + sliceBytes);
      await nextTurn();
      parse(slice);
      tokenBytes += slice.length;
      if (tokenBytes > maxTokenBytes) throw tooLargeError(`${name} has a text of 256 KiB`);
      yield;
    }
  }
  parse();
  yield;
}

function attributeOf(
  attributes: Readonly<Record<string, SaxesAttributeNS>>,
  name: string,
): string | undefined {
  const plain = attributes[name];
  if (plain) return plain.value;
  return Object.values(attributes).find(({ local, prefix }) => prefix !== "xmlns" && local === name)
    ?.value;
}

/** Calls a function of the parser, and turns its errors into refusals. */
function refuseUnparsed(name: string, parse: () => void): void {
  try {
    parse();
  } catch (error) {
    if (error instanceof DomainError) throw error;
    throw workbookError(`${name} is damaged: ${(error as Error).message}`);
  }
}
