/**
 * Reads the JSON of requests as strictly as protobuf-go. Protobuf-ES takes some texts for something
 * else than they say: days that do not exist, blank numbers and those of other bases, numbers that
 * JavaScript rounds, and bytes that are not UTF-8.
 */
import { isUtf8 } from "node:buffer";
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescOneof,
  fromJsonString,
  ScalarType,
} from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { invalid } from "../messages/invalid-request.ts";
import { DomainError } from "../words/errors.ts";
import { isTimestamp } from "../words/month.ts";
import { toConnectError, unreadable } from "./errors.ts";

/** Longer names of a request are cut, because clients limit the size of metadata. */
export const maxEchoed = 100;

/**
 * Returns the decoder by which Connect reads the JSON of a method, wherever it comes from: a body,
 * a stream or a URL. It throws INVALID_REQUEST with the path of the field, or returns JSON that
 * Protobuf-ES reads as what was sent.
 */
export const strictDecoder = (input: DescMessage) => ({
  decode(bytes: Uint8Array = new Uint8Array()): string {
    try {
      return strictText(input, bytes);
    } catch (error) {
      throw error instanceof DomainError ? toConnectError(error) : error;
    }
  },
});

function strictText(input: DescMessage, bytes: Uint8Array): string {
  const text = textOf(bytes);
  const json = parse(text);
  if (!isObject(json)) throw unreadable(`the request is not a ${input.name} as a JSON object`);
  const exact = exactMessage(input, json, { path: "", numbers: numbersIn(text) });
  if (exact === json) return text;
  // Throws for a name that is given twice, of which the parsed object has the last value only.
  fromJsonString(EmptySchema, text, { ignoreUnknownFields: true });
  return JSON.stringify(exact);
}

/** The text of UTF-8. A byte order mark stays, and is no JSON. */
function textOf(bytes: Uint8Array): string {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  if (!isUtf8(bytes)) throw unreadable(`the request is not UTF-8: ${wrongByte(bytes, text)}`);
  return text;
}

/** The character that a decoder writes for bytes that are not UTF-8; requests may contain it. */
const replacement = "\ufffd";
const replacementBytes = [...Buffer.from(replacement)];

/** Finds where bytes stop being the text that a decoder has made of them. */
function wrongByte(bytes: Uint8Array, text: string): string {
  let [from, offset] = [0, 0];
  for (;;) {
    const at = text.indexOf(replacement, from);
    offset += Buffer.byteLength(text.slice(from, at));
    const isSent = replacementBytes.every((byte, i) => bytes[offset + i] === byte);
    if (!isSent) return `byte 0x${bytes[offset]?.toString(16)} at offset ${offset}`;
    from = at + 1;
    offset += 3;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const [place = ""] = / at position \d+ \(line \d+ column \d+\)/.exec(String(error)) ?? [];
    throw unreadable(`the request is not JSON${place && `: an error${place}`}`);
  }
}

/**
 * Yields the numbers of JSON as they are written, which JavaScript may round. They are in the order
 * in which the values are read: no field has a name like an index, which would come first.
 */
function* numbersIn(text: string): Generator<string, string> {
  for (const [, number] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|(-?\d[\d.eE+-]*)/gs)) {
    if (number !== undefined) yield number;
  }
  return "";
}

type JsonFields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is JsonFields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Where a value is: its path, empty for the request itself, and the numbers from there on. */
interface FieldPath {
  readonly path: string;
  readonly numbers: Iterator<string, string>;
}

/**
 * Checks every value of a message. Returns the same object, or one with other values where
 * Protobuf-ES would not read what Protobuf says.
 */
function exactMessage(
  message: DescMessage,
  json: JsonFields,
  { path, numbers }: FieldPath,
): JsonFields {
  const prefix = path && `${path}.`;
  const fields = fieldsOf(message);
  const given = new Set<DescField | DescOneof>();
  /** The oneofs of the members that are null, by the names of these. */
  const nulls = new Map<string, DescOneof>();
  let exact = json;
  for (const [name, value] of Object.entries(json)) {
    const known = fields.get(name);
    if (!known) throw refused(prefix + name, `is not a field of ${message.name}`);
    const { field } = known;
    const { oneof } = field;
    const at = { path: prefix + field.name, numbers };
    if (given.has(field)) throw refused(at.path, "is given twice");
    given.add(field);
    if (value === null) {
      if (oneof) nulls.set(name, oneof);
      continue;
    }
    if (oneof && given.has(oneof)) {
      const members = oneof.fields.map((each) => each.name).join(", ");
      throw refused(prefix + oneof.name, `only one of ${members}`);
    }
    if (oneof) given.add(oneof);
    const isList = field.fieldKind === "list";
    const changed = isList ? exactList(known, value, at) : exactOne(known, value, at);
    if (changed !== value) exact = { ...exact, [name]: changed };
  }
  // Protobuf-ES counts a null as a member of its oneof.
  if (![...nulls.values()].some((oneof) => given.has(oneof))) return exact;
  return Object.fromEntries(Object.entries(exact).filter(([name]) => !nulls.has(name)));
}

/** A field, and how its value has to look; without a form it is a message with fields. */
interface Known {
  readonly field: DescField;
  readonly form: Form | undefined;
}

/** The fields of a message by both of their names. */
function fieldsOf(message: DescMessage): ReadonlyMap<string, Known> {
  const found = fieldsByMessage.get(message);
  if (found) return found;
  const fields = new Map(
    message.fields.flatMap((field) => {
      const known = { field, form: formOf(field) };
      return [field.name, field.jsonName].map((name) => [name, known]);
    }),
  );
  fieldsByMessage.set(message, fields);
  return fields;
}

const fieldsByMessage = new WeakMap<DescMessage, ReadonlyMap<string, Known>>();

function exactList(known: Known, value: unknown, { path, numbers }: FieldPath): unknown {
  if (!Array.isArray(value)) throw refused(path, "has to be an array");
  const items = value.map((item, i) => exactOne(known, item, { path: `${path}[${i}]`, numbers }));
  return items.some((item, i) => item !== value[i]) ? items : value;
}

/** Checks a value of a field, or an item of it. */
function exactOne({ field, form }: Known, value: unknown, at: FieldPath): unknown {
  if (!form && field.message) {
    if (!isObject(value)) throw refused(at.path, "has to be a JSON object");
    return exactMessage(field.message, value, at);
  }
  const exact = form?.exact(value, at.numbers);
  if (exact === undefined) throw refused(at.path, `has to be ${form?.text}`);
  return exact;
}

/** How a value has to look. */
interface Form {
  readonly text: string;
  /** The same value, or one that Protobuf-ES reads as what it says; undefined when it is wrong. */
  readonly exact: (value: unknown, numbers: FieldPath["numbers"]) => unknown;
}

function formOf({ message, enum: named, scalar }: DescField): Form | undefined {
  if (message) return wellKnownForms.get(message.typeName);
  return named ? enumForm(named) : scalarForms.get(scalar);
}

/** The same value when it is a text that passes. */
const textIf =
  (isRight: (text: string) => boolean) =>
  (value: unknown): unknown =>
    typeof value === "string" && isRight(value) ? value : undefined;

const integer = (bits: number): Form => ({
  text: `a whole number of ${bits} bits`,
  exact(value, numbers) {
    const source = typeof value === "number" ? numbers.next().value : value;
    const number = typeof source === "string" ? integerOf(source) : undefined;
    if (number === undefined || !isWithin(number, bits)) return undefined;
    const isExact = typeof value === "number" && BigInt(value) === number;
    return isExact ? value : String(number);
  },
});

const isWithin = (number: bigint, bits: number) => BigInt.asIntN(bits, number) === number;

/** Longer numbers would take long to be computed, and are beyond every type. */
const maxDigits = 64;

/** The integer that a number of JSON has, also with a fraction of zeros, or an exponent. */
function integerOf(text: string): bigint | undefined {
  if (text.length > maxDigits) return undefined;
  const match = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d{1,2}))?$/.exec(text);
  if (!match) return undefined;
  const [, sign, whole = "", fraction = "", exponent = "0"] = match;
  const digits = BigInt(whole + fraction);
  const shift = Number(exponent) - fraction.length;
  const power = 10n ** BigInt(Math.abs(shift));
  if (shift < 0 && digits % power !== 0n) return undefined;
  const size = shift < 0 ? digits / power : digits * power;
  return sign ? -size : size;
}

const int32 = integer(32);

const scalarForms = new Map<ScalarType | undefined, Form>([
  [ScalarType.STRING, { text: "a string", exact: textIf((text) => text.isWellFormed()) }],
  [
    ScalarType.BOOL,
    { text: "true or false", exact: (value) => (typeof value === "boolean" ? value : undefined) },
  ],
  [ScalarType.BYTES, { text: "a string in base64", exact: textIf(isBase64) }],
  [ScalarType.INT32, int32],
  [ScalarType.INT64, integer(64)],
]);

/** Of either alphabet, with or without padding, and with the line ends that many programs write. */
function isBase64(text: string): boolean {
  const plain = text.replaceAll(/[\r\n]/g, "");
  if (!/^(?:[A-Za-z0-9+/]*|[A-Za-z0-9_-]*)={0,2}$/.test(plain)) return false;
  return plain.endsWith("=") ? plain.length % 4 === 0 : plain.length % 4 !== 1;
}

function enumForm({ values }: DescEnum): Form {
  const names = values.map(({ name }) => name);
  const named = textIf((text) => names.includes(text));
  return {
    text: `one of ${names.join(", ")}`,
    exact: (value, numbers) =>
      typeof value === "number" ? int32.exact(value, numbers) : named(value),
  };
}

const wellKnownForms = new Map<string, Form>([
  [
    "google.protobuf.Timestamp",
    { text: "a time as 2026-01-01T00:00:00Z", exact: textIf(isTimestamp) },
  ],
  ["google.protobuf.Duration", { text: "a duration as 1.5s", exact: textIf(isDuration) }],
  [
    "google.protobuf.FieldMask",
    { text: "a text of field names in lowerCamelCase, with commas", exact: textIf(isFieldMask) },
  ],
]);

/** Protobuf's limit: about 10,000 years. */
const maxDurationSeconds = 315_576_000_000;

function isDuration(text: string): boolean {
  const isForm = /^-?(0|[1-9]\d*)(\.\d{1,9})?s$/.test(text);
  return isForm && Math.abs(Number.parseFloat(text)) <= maxDurationSeconds;
}

function isFieldMask(text: string): boolean {
  return /^([A-Za-z][A-Za-z0-9]*([.,][A-Za-z][A-Za-z0-9]*)*)?$/.test(text);
}

const refused = (path: string, description: string) =>
  // A path may end with a name of the request.
  invalid(path.slice(0, maxEchoed), description);
