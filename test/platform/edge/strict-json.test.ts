/** Compares how JSON is read with what protobuf-go says of it. */
import { globSync, readFileSync } from "node:fs";
import { type DescField, type DescMessage, type DescService, fromBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GetBalanceRequestSchema } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { strictDecoder } from "../../../src/platform/edge/strict-json.ts";
import { projectRoot } from "../../support/markdown.ts";
import { deviations, differs } from "./json-verdicts/compare.ts";
import { type Input, inputs } from "./json-verdicts/inputs.ts";

/** By type and JSON: the message in base64 as protobuf-go has read it, or null. */
const verdicts: Record<string, Record<string, string | null>> = JSON.parse(
  readFileSync(`${import.meta.dirname}/json-verdicts/verdicts.json`, "utf8"),
);

/** Whether we read an input otherwise than protobuf-go did. */
function isOther(input: Input): boolean {
  const verdict = verdicts[input.message.typeName]?.[input.json];
  if (verdict === undefined) throw new Error("no verdict: run json-verdicts/record.ts");
  return differs(input, verdict);
}

test("reads what protobuf-go reads, and refuses what it refuses", () => {
  const unexplained = inputs.filter(
    (input) => isOther(input) && !deviations.some(([json]) => json.test(input.json)),
  );
  expect(unexplained.map(({ message, json }) => `${message.name} ${json}`)).toEqual([]);
});

test.each(deviations)("differs from protobuf-go with %s: %s", (json) => {
  expect(inputs.filter((input) => json.test(input.json)).some(isOther)).toBe(true);
});

test("knows the form of every field of every request", async () => {
  const fields = new Map<string, DescField>();
  const add = (message: DescMessage): void => {
    for (const field of message.fields.filter((each) => !fields.has(String(each)))) {
      fields.set(String(field), field);
      if (field.message && !field.message.typeName.startsWith("google.")) add(field.message);
    }
  };
  const files = globSync(`${projectRoot}src/gen/**/*_pb.ts`).map((file) => import(file));
  for (const exported of (await Promise.all(files)).flatMap((file) => Object.values(file))) {
    const { kind, methods = [] } = exported as Partial<DescService>;
    if (kind === "service") for (const { input } of methods) add(input);
  }
  expect(fields.size).toBeGreaterThan(200);
  for (const { parent, name } of fields.values()) {
    const wrong = () => strictDecoder(parent).decode(Buffer.from(`{"${name}":{"?":{}}}`));
    expect(wrong).toThrow(/: (has to be (?!undefined)|is not a field)/);
  }
});

describe("bytes", () => {
  const balance = strictDecoder(GetBalanceRequestSchema);
  const asJson = (bytes: Uint8Array) =>
    balance.decode(Buffer.concat([Buffer.from('{"userId":"'), bytes, Buffer.from('"}')]));

  test.each([
    ["8f a7", "byte 0x8f at offset 11"],
    ["61 ff", "byte 0xff at offset 12"],
    ["c3 28", "byte 0xc3 at offset 11"],
    ["ed a0 80", "byte 0xed at offset 11"],
    ["ef bf bd f4 90 80 80", "byte 0xf4 at offset 14"],
  ])("%s are refused as %s", (hex, what) => {
    const bytes = Buffer.from(hex.replaceAll(" ", ""), "hex");
    expect(() => asJson(bytes)).toThrow(`the request is not UTF-8: ${what}`);
  });

  test("that are cut off are refused", () => {
    const cut = () => balance.decode(Buffer.from("7b7de381", "hex"));
    expect(cut).toThrow("not UTF-8: byte 0xe3 at offset 2");
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
