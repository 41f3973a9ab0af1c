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
import { DomainError } from "../../domain/errors.ts";
import { isTimestamp } from "../../domain/month.ts";
import { invalid, toConnectError } from "./errors.ts";

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
  if (!isObject(json)) throw unreadable(`is not a ${input.name} as a JSON object`);
  const exact = exactMessage(input, json, "");
  if (exact === json) return text;
  // Throws for a name that is given twice, of which the parsed object has the last value only.
  fromJsonString(EmptySchema, text, { ignoreUnknownFields: true });
  return JSON.stringify(exact);
}

const unreadable = (what: string) => new DomainError("INVALID_REQUEST", `the request ${what}`);

/** The text of UTF-8. A byte order mark stays, and is no JSON. */
function textOf(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw unreadable(`is not UTF-8: ${firstWrongByte(bytes)}`);
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

function firstWrongByte(bytes: Uint8Array): string {
  // The shortest beginning that is wrong ends with it.
  let [right, wrong] = [0, bytes.length + 1];
  while (wrong - right > 1) {
    const middle = Math.floor((right + wrong) / 2);
    if (isBeginning(bytes.subarray(0, middle))) right = middle;
    else wrong = middle;
  }
  const byte = bytes[right];
  return byte === undefined ? "it is cut off" : `byte 0x${byte.toString(16)} at offset ${right}`;
}

/** Whether bytes are UTF-8, but for a character that is cut off. */
function isBeginning(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** A number as it was written, which JavaScript may have rounded. */
class InexactNumber {
  readonly source: string;
  constructor(source: string) {
    this.source = source;
  }
}

/** ECMAScript has the third parameter since 2026; TypeScript does not know it. */
const keepInexact = (
  _: string,
  value: unknown,
  { source }: { readonly source: string },
): unknown =>
  typeof value === "number" && !Number.isSafeInteger(value) ? new InexactNumber(source) : value;

function parse(text: string): unknown {
  try {
    return JSON.parse(text, keepInexact as Parameters<typeof JSON.parse>[1]);
  } catch (error) {
    const [place = ""] = / at position \d+ \(line \d+ column \d+\)/.exec(String(error)) ?? [];
    throw unreadable(`is not JSON${place && `: an error${place}`}`);
  }
}

type JsonFields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is JsonFields =>
  typeof value === "object" && value?.constructor !== Array && !(value instanceof InexactNumber);

/**
 * Checks every value of a message. Returns the same object, or one with other values where
 * Protobuf-ES would not read what Protobuf says.
 */
function exactMessage(message: DescMessage, json: JsonFields, prefix: string): JsonFields {
  const fields = fieldsOf(message);
  const given = new Set<DescField | DescOneof>();
  let exact = json;
  for (const [name, value] of Object.entries(json)) {
    const field = fields.get(name);
    if (!field) throw refused(prefix + name, `is not a field of ${message.name}`);
    const path = prefix + field.name;
    if (given.has(field)) throw refused(path, "is given twice");
    given.add(field);
    if (value === null) {
      // It is unset. Protobuf-ES would count it as a member of its oneof.
      const { [name]: _, ...others } = exact;
      exact = others;
      continue;
    }
    if (field.oneof) {
      const members = field.oneof.fields.map((each) => each.name).join(", ");
      if (given.has(field.oneof))
        throw refused(prefix + field.oneof.name, `only one of ${members}`);
      given.add(field.oneof);
    }
    const changed =
      field.fieldKind === "list" ? exactList(field, value, path) : exactOne(field, value, path);
    if (changed !== value) exact = { ...exact, [name]: changed };
  }
  return exact;
}

/** The fields of a message by both of their names. */
function fieldsOf(message: DescMessage): ReadonlyMap<string, DescField> {
  const found = known.get(message);
  if (found) return found;
  const fields = new Map(
    message.fields.flatMap((field) => [field.name, field.jsonName].map((name) => [name, field])),
  );
  known.set(message, fields);
  return fields;
}

const known = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

function exactList(field: DescField, value: unknown, path: string): unknown {
  if (!Array.isArray(value)) throw refused(path, "has to be an array");
  const items = value.map((item, i) => exactOne(field, item, `${path}[${i}]`));
  return items.some((item, i) => item !== value[i]) ? items : value;
}

/** Checks a value of a field, or an item of it. */
function exactOne(field: DescField, value: unknown, path: string): unknown {
  const form = formOf(field);
  if (!form && field.message) {
    if (!isObject(value)) throw refused(path, "has to be a JSON object");
    return exactMessage(field.message, value, `${path}.`);
  }
  const exact = form?.exact(value);
  if (exact === undefined) throw refused(path, `has to be ${form?.text}`);
  return exact;
}

/** How a value has to look. */
interface Form {
  readonly text: string;
  /** The same value, or one that Protobuf-ES reads as what it says; undefined when it is wrong. */
  readonly exact: (value: unknown) => unknown;
}

function formOf({ message, enum: names, scalar }: DescField): Form | undefined {
  if (message) return wellKnownForms.get(message.typeName);
  return names ? enumForm(names) : scalarForms.get(scalar);
}

/** The same value when it is a text that passes. */
const textIf =
  (isRight: (text: string) => boolean) =>
  (value: unknown): unknown =>
    typeof value === "string" && isRight(value) ? value : undefined;

const integer = (bits: number): Form => ({
  text: `a whole number of ${bits} bits`,
  exact(value) {
    // It was read from decimal digits.
    if (typeof value === "number") return isWithin(BigInt(value), bits) ? value : undefined;
    const source = value instanceof InexactNumber ? value.source : value;
    const number = typeof source === "string" ? integerOf(source) : undefined;
    if (number === undefined || !isWithin(number, bits)) return undefined;
    const text = String(number);
    return text === value ? value : text;
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

const scalarForms = new Map<ScalarType | undefined, Form>([
  [ScalarType.STRING, { text: "a string", exact: textIf((text) => text.isWellFormed()) }],
  [
    ScalarType.BOOL,
    { text: "true or false", exact: (value) => (typeof value === "boolean" ? value : undefined) },
  ],
  [ScalarType.BYTES, { text: "a string in base64", exact: textIf(isBase64) }],
  [ScalarType.INT32, integer(32)],
  [ScalarType.INT64, integer(64)],
]);

/** Of either alphabet, with or without padding, and with the line ends that many programs write. */
function isBase64(text: string): boolean {
  const plain = text.replaceAll(/[\r\n]/g, "");
  if (!/^(?:[A-Za-z0-9+/]*|[A-Za-z0-9_-]*)={0,2}$/.test(plain)) return false;
  return plain.endsWith("=") ? plain.length % 4 === 0 : plain.length % 4 !== 1;
}

const enumForm = ({ values }: DescEnum): Form => ({
  text: `one of ${values.map(({ name }) => name).join(", ")}`,
  exact: (value) =>
    typeof value === "number"
      ? integer(32).exact(value)
      : textIf((text) => values.some(({ name }) => name === text))(value),
});

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
