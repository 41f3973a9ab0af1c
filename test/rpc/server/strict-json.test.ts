/** Compares how JSON is read with what protobuf-go says of it. */
import { readFileSync } from "node:fs";
import { type DescMessage, fromBinary, fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GetBalanceRequestSchema } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { strictDecoder } from "../../../src/rpc/server/strict-json.ts";
import { inputs } from "./json-verdicts/inputs.ts";

/** By type and JSON: the message in base64 as protobuf-go has read it, or null. */
const verdicts: Record<string, Record<string, string | null>> = JSON.parse(
  readFileSync(`${import.meta.dirname}/json-verdicts/verdicts.json`, "utf8"),
);

/** Where we differ from protobuf-go, by the JSON. */
const deviations: readonly (readonly [json: RegExp, reason: string])[] = [
  [/:1e}/, "no JSON: Go reads 1"],
  [/"1[, ](000|s)"/, "Go reads the number before the comma or the space"],
  [/00:00,1Z"/, "RFC 3339 has a point before fractions"],
  [/\+24:00"/, "RFC 3339 has offsets of up to 23:59"],
  [/\+09:60"/, "RFC 3339 has offsets of up to 59 minutes"],
  [/"(\+1|1\.|\.5)s"/, "Protobuf says digits on both sides, and no plus"],
  [/"updateMask":"(PENDING)? "/, "Go takes spaces away"],
  [/"csv":"YQ==\\n"/, "Go takes line ends for padding, and refuses some wrapped texts"],
];

const refused = "refused";

/** The message of a JSON text as JSON, or "refused". */
function ours(message: DescMessage, json: string): string {
  try {
    const text = strictDecoder(message).decode(Buffer.from(json));
    return toJsonString(message, fromJsonString(message, text));
  } catch {
    return refused;
  }
}

function theirs(message: DescMessage, json: string): string {
  const verdict = verdicts[message.typeName]?.[json];
  if (verdict === undefined) throw new Error(`no verdict: run json-verdicts/record.ts`);
  if (verdict === null) return refused;
  return toJsonString(message, fromBinary(message, Buffer.from(verdict, "base64")));
}

const differs = ({ message, json }: (typeof inputs)[number]): boolean =>
  ours(message, json) !== theirs(message, json);

test("reads what protobuf-go reads, and refuses what it refuses", () => {
  const unexplained = inputs.filter(
    (input) => differs(input) && !deviations.some(([json]) => json.test(input.json)),
  );
  expect(unexplained.map(({ message, json }) => `${message.name} ${json}`)).toEqual([]);
});

test.each(deviations)("differs from protobuf-go with %s: %s", (json) => {
  expect(inputs.filter((input) => json.test(input.json)).some(differs)).toBe(true);
});

describe("bytes", () => {
  const balance = strictDecoder(GetBalanceRequestSchema);
  const asJson = (bytes: Uint8Array) =>
    balance.decode(Buffer.concat([Buffer.from('{"userId":"'), bytes, Buffer.from('"}')]));

  test.each([
    ["8f a7", "byte 0x8f at offset 11"],
    ["61 ff", "byte 0xff at offset 12"],
    ["c3 28", "byte 0x28 at offset 12"],
    ["ed a0 80", "byte 0xa0 at offset 12"],
    ["f4 90 80 80", "byte 0x90 at offset 12"],
  ])("%s are refused as %s", (hex, what) => {
    const bytes = Buffer.from(hex.replaceAll(" ", ""), "hex");
    expect(() => asJson(bytes)).toThrow(`the request is not UTF-8: ${what}`);
  });

  test("that are cut off are refused", () => {
    expect(() => balance.decode(Buffer.from("e381", "hex"))).toThrow("not UTF-8: it is cut off");
  });

  test("are the same texts as in the Protobuf format", () => {
    const isRefused = (read: () => unknown): boolean => {
      try {
        read();
        return false;
      } catch {
        return true;
      }
    };
    const byte = fc.constantFrom(0x61, 0x7f, 0x80, 0xa0, 0xbf, 0xc2, 0xe0, 0xed, 0xef, 0xf0, 0xf4);
    const bytes = fc.array(byte, { maxLength: 6 }).map((each) => Uint8Array.from(each));
    const isSame = (value: Uint8Array) => {
      const message = new BinaryWriter().tag(2, WireType.LengthDelimited).bytes(value).finish();
      const inBinary = isRefused(() => fromBinary(GetBalanceRequestSchema, message));
      expect(isRefused(() => asJson(value))).toBe(inBinary);
    };
    fc.assert(fc.property(bytes, isSame), { seed: 45, numRuns: 2_000 });
  });
});
