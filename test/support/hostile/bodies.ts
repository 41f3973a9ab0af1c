/** Bodies that are costly to parse, for any method: what a limit has to hold against. */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** Fills a buffer of a length with one text, over and over. */
const filled = (length: number, text: string | Uint8Array) => Buffer.alloc(length, text as string);

/** An unknown field of the smallest size, so often as fits into a length. */
export const unknownFields = (length: number): Buffer =>
  filled(length - (length % 3), Buffer.from([0x80, 0x7d, 0x01]));

/** A field of a message with empty messages of its field 1. */
export function emptyRows(field: number, length: number): Uint8Array {
  const rows = filled(length - (length % 2), Buffer.from([0x0a, 0x00]));
  return new BinaryWriter().tag(field, WireType.LengthDelimited).bytes(rows).finish();
}

/** JSON lists in each other, which no message has. */
export const deepJson = (length: number): Buffer =>
  Buffer.from(`{"x":${"[".repeat(length / 2 - 4)}${"]".repeat(length / 2 - 4)}}`);

/** A JSON list of empty objects. */
export const emptyObjects = (length: number): Buffer =>
  Buffer.from(`{"x":[${"{},".repeat(length / 3 - 4)}{}]}`);

/** A JSON object with very many fields. */
export const manyFields = (length: number): Buffer =>
  Buffer.from(`{${Array.from({ length: length / 12 }, (_, i) => `"f${i}":1`).join(",")}}`);

const header = "user_id,points,reason\n";

/** Sheets of so many bytes: each is costly in its own way. */
export const sheets: Readonly<Record<string, (length: number) => Buffer>> = {
  "empty lines": (length) => filled(length, "\n"),
  commas: (length) => filled(length, ","),
  quotes: (length) => filled(length, '"'),
  "one row": (length) => Buffer.from(header + "u".repeat(length - header.length)),
  "rows of one person": (length) => filled(length, `${header}u,1,r\n`),
  "rows of many people": (length) =>
    Buffer.from(header + Array.from({ length: length / 14 }, (_, i) => `u${i},1,r`).join("\n")),
  "rows with every error": (length) => Buffer.from(header + "#,x\n".repeat(length / 4 - 6)),
};
