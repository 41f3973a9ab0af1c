/** The largest requests of each method: good ones with one field up to the limit, and garbage. */
import {
  create,
  type DescField,
  type DescMethod,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { BulkGrantService } from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { limitsOf } from "../../../src/platform/edge/method-limits.ts";
import { goodRequests, type Init } from "../fixtures/good-requests.ts";
import { deepJson, emptyObjects, manyFields, sheets, unknownFields } from "./bodies.ts";

/** The body of a request with what is large about it. */
export interface LargestInput {
  readonly name: string;
  readonly format: "proto" | "json";
  readonly body: Uint8Array;
}

/** Room for the good fields beside the large one. */
const roomBytes = 1_024;

const { checkSheet, submitBulkGrant } = BulkGrantService.method;

/** Returns the largest inputs of a method. */
export function largestInputs(method: DescMethod): LargestInput[] {
  const init = goodRequests[method.name] ?? {};
  const good = create(method.input, init);
  const start = toBinary(method.input, good);
  const length = limitsOf(method).bodyBytes - roomBytes;
  const proto = (name: string, rest: Uint8Array): LargestInput => {
    return { name, format: "proto", body: Buffer.concat([start, rest]) };
  };
  const json = (name: string, body: Buffer): LargestInput => ({ name, format: "json", body });
  const text = toJsonString(method.input, good);
  const inputs = [
    proto("unknown fields", unknownFields(length)),
    json("empty objects", emptyObjects(length)),
    json("lists in lists", deepJson(length)),
    json("many fields", manyFields(length)),
    json("spaces", Buffer.from(text.replace("{", `{${" ".repeat(length)}`))),
    ...method.input.fields.flatMap((field) => {
      const large = largeField(method, init, field, length);
      return large ? [proto(field.name, large)] : [];
    }),
  ];
  if (method !== checkSheet && method !== submitBulkGrant) return inputs;
  // Beside what encodes a sheet. Base64 has four bytes for three.
  const sheetBytes = limitsOf(method).bodyBytes - 2 ** 16;
  const csv = Buffer.alloc((sheetBytes / 4) * 3, "u,1,r\n").toString("base64");
  return inputs.concat(
    json("base64", Buffer.from(JSON.stringify({ bulkGrantId: "b", csv }))),
    Object.entries(sheets).map(([name, sheet]) => proto(name, bytesField(3, sheet(sheetBytes)))),
  );
}

/** The field alone: its list with very many elements, or its text with very many letters. */
function largeField(method: DescMethod, init: Init, field: DescField, length: number) {
  if (field.fieldKind === "list") {
    const given = init[field.localName] as unknown[] | undefined;
    const first = given?.[0] ?? (field.message ? {} : undefined);
    if (first === undefined) return undefined;
    const one = toBinary(method.input, create(method.input, { [field.localName]: [first] }));
    return Buffer.concat(Array(Math.floor(length / one.length)).fill(one));
  }
  if (field.fieldKind !== "scalar") return undefined;
  const isText = typeof init[field.localName] === "string";
  return isText ? bytesField(field.number, Buffer.alloc(length, "é")) : undefined;
}

const bytesField = (number: number, value: Uint8Array): Uint8Array =>
  new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(value).finish();
