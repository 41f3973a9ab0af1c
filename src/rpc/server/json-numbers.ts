/** Refuses integers of JSON that are no decimal numbers: "0x10" is a mistake, and would be 16. */
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { invalid } from "./errors.ts";

const integers: ReadonlySet<ScalarType | undefined> = new Set([ScalarType.INT32, ScalarType.INT64]);

/** A text that JavaScript, but not Protobuf's JSON, reads as a number: hexadecimal and the like. */
const otherBase = /^\s*[+-]?0[xob]/i;

/** What a request has that may have such a text; all others are not parsed twice. */
const suspicious = /0[xob]|\\u/i;

/** Checks the JSON of a request before it is read. Throws INVALID_REQUEST with the field. */
export function requireDecimals(input: DescMessage, bytes: Uint8Array): void {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  if (!suspicious.test(text)) return;
  const field = findOther(input, parse(text));
  if (field) throw invalid(field.name, "has to be a decimal number");
}

/** What is no JSON is left to the one who reads it. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The first integer field of a message, or of one in it, whose value is in another base. */
function findOther(message: DescMessage, json: unknown): DescField | undefined {
  if (typeof json !== "object" || json === null) return undefined;
  for (const field of message.fields) {
    if (field.scalar === undefined && field.message === undefined) continue;
    const names = [field.jsonName, field.name].filter((name) => Object.hasOwn(json, name));
    for (const name of names) {
      const value = (json as Record<string, unknown>)[name];
      for (const item of Array.isArray(value) ? value : [value]) {
        if (isOther(field, item)) return field;
        const found = field.message && findOther(field.message, item);
        if (found) return found;
      }
    }
  }
  return undefined;
}

const isOther = ({ scalar }: DescField, value: unknown): boolean =>
  integers.has(scalar) && typeof value === "string" && otherBase.test(value);
