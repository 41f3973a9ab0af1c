/** Random messages for every RPC: valid values, values at the limits, and what no client sends. */
import {
  create,
  type DescField,
  type DescMessage,
  type DescMethod,
  type JsonValue,
  type MessageInitShape,
  ScalarType,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import fc from "fast-check";
import { anyText } from "../fixtures/any-text.ts";

/** Few ids, so that the stored records are few; the rest is invalid or a text for display. */
const texts: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("u1", "u2", "post", "like", "default", "") },
  { weight: 1, arbitrary: fc.constantFrom("a#b", "\u0000", "\u202e", "𝒳", "e\u0301".repeat(200)) },
  { weight: 1, arbitrary: fc.constantFrom("x".repeat(1_025), "あ".repeat(20_000)) },
  { weight: 1, arbitrary: anyText({ minLength: 200, maxLength: 300 }) },
);

const int64s = fc.oneof(
  fc.constantFrom(0n, 1n, -1n, 10n ** 9n, 2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n)),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
);
const int32s = fc.oneof(fc.constantFrom(0, 1, 2, -1, 2 ** 31 - 1, -(2 ** 31)), fc.integer());

function arbitraryOf(field: DescField): fc.Arbitrary<unknown> {
  if (field.message) return messageOf(field.message);
  if (field.enum) return fc.oneof(fc.integer({ min: 0, max: 8 }), int32s);
  switch (field.scalar) {
    case ScalarType.STRING:
      return texts;
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 300 });
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.INT64:
      return int64s;
    default:
      return int32s;
  }
}

const known = new Map<string, fc.Arbitrary<object>>();

/** A message with any of its fields. The messages of the protos do not contain themselves. */
export function messageOf(desc: DescMessage): fc.Arbitrary<object> {
  const found = known.get(desc.typeName);
  if (found) return found;
  const parts = desc.members.map((member) => {
    if (member.kind === "oneof") {
      const cases = member.fields.map((field) =>
        arbitraryOf(field).map((value) => ({ case: field.localName, value })),
      );
      return [member.localName, fc.oneof(...cases)] as const;
    }
    const value = arbitraryOf(member);
    const list = fc.oneof(
      { weight: 5, arbitrary: fc.array(value, { maxLength: 4 }) },
      { weight: 1, arbitrary: value.map((one) => Array(501).fill(one)) },
    );
    return [member.localName, member.fieldKind === "list" ? list : value] as const;
  });
  const made = fc.record(Object.fromEntries(parts), { requiredKeys: [] });
  known.set(desc.typeName, made);
  return made;
}

/** What is done to the bytes of a message, or to its JSON. */
const damages = ["none", "none", "unknown", "cut", "flip", "garbage", "deep", "type"] as const;

/** One request of the fuzz test. `choice` decides the details, from 0 to 2^30. */
export interface FuzzRequest {
  readonly method: DescMethod;
  readonly init: object;
  readonly damage: (typeof damages)[number];
  readonly choice: number;
}

export const requestsOf = (methods: readonly DescMethod[]): fc.Arbitrary<FuzzRequest> =>
  fc.constantFrom(...methods).chain((method) =>
    fc.record({
      method: fc.constant(method),
      init: messageOf(method.input),
      damage: fc.constantFrom(...damages),
      choice: fc.nat({ max: 2 ** 30 }),
    }),
  );

const messageIn = ({ method, init }: FuzzRequest) =>
  create(method.input, init as MessageInitShape<DescMessage>);

/** The request in the binary format, damaged. */
export function toBytes(request: FuzzRequest): Uint8Array<ArrayBuffer> {
  const { damage, choice, method } = request;
  const bytes = Uint8Array.from(toBinary(method.input, messageIn(request)));
  const place = bytes.length === 0 ? 0 : choice % bytes.length;
  switch (damage) {
    case "unknown":
      // Field 1,000 with a text, or of a group that never ends.
      return Uint8Array.from([...bytes, 194, 62, 3, 65, 66, 67, ...(choice % 2 ? [195, 62] : [])]);
    case "cut":
      return bytes.slice(0, place);
    case "flip":
      return bytes.map((byte, i) => (i === place ? byte ^ (choice % 255) : byte));
    case "garbage":
    case "type":
      return Uint8Array.from({ length: choice % 500 }, (_, i) => (choice * (i + 7)) % 251);
    case "deep":
      // Groups within groups, of an unknown field.
      return new Uint8Array(10_000).fill(0x7b);
    default:
      return bytes;
  }
}

/** The request as JSON, damaged. */
export function toText(request: FuzzRequest): string {
  const { damage, choice, method } = request;
  const json = jsonIn(request);
  const text = JSON.stringify(json);
  switch (damage) {
    case "unknown":
      return JSON.stringify({ ...json, ["unknown".repeat(1 + (choice % 900))]: choice });
    case "cut":
      return text.slice(0, choice % text.length);
    case "flip":
      return text.replace(/["{}:]/, "\u0001");
    case "garbage":
      return String.fromCharCode(...Array.from({ length: 99 }, (_, i) => (choice * i) % 3_000));
    case "deep":
      return choice % 2 ? "[".repeat(30_000) : '{"a":'.repeat(10_000);
    case "type": {
      const wrong: JsonValue[] = [null, 1.5, "x", [], {}, [[]], true, 1e300, "9".repeat(400)];
      const { fields } = method.input;
      const name = fields[choice % Math.max(fields.length, 1)]?.jsonName ?? "none";
      return JSON.stringify({ ...json, [name]: wrong[choice % wrong.length] ?? null });
    }
    default:
      return text;
  }
}

/** A message that has no JSON, such as one with a time beyond the year 9999, is empty. */
function jsonIn(request: FuzzRequest): Record<string, JsonValue> {
  try {
    return toJson(request.method.input, messageIn(request)) as Record<string, JsonValue>;
  } catch {
    return {};
  }
}
