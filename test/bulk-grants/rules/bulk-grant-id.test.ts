/** Tests which texts may be ids of bulk grants, beside those that the contract refuses. */
import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isBulkGrantId } from "../../../src/bulk-grants/rules/bulk-grant-id.ts";
import { GetBulkGrantRequestSchema } from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { requestValidator } from "../../../src/platform/edge/validator.ts";

const isValid = (bulkGrantId: string) =>
  requestValidator.validate(
    GetBulkGrantRequestSchema,
    create(GetBulkGrantRequestSchema, { bulkGrantId }),
  ).kind === "valid";

const anyText = fc.string({
  unit: fc.oneof(
    fc.constantFrom("#", " ", "\u3000", "\t", "\u2028", "\u202e", "/", "点", "か\u3099", "é", "👍"),
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
  ),
  maxLength: 60,
});

test("the contract takes the same texts, whatever their form of Unicode is", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const isNfc = text.normalize("NFC") === text;
      expect(isBulkGrantId(text)).toBe(isNfc && isValid(text));
    }),
  );
});

test("a long text without an end is refused at once", () => {
  expect(isBulkGrantId(`a${" ".repeat(1_000_000)}`)).toBe(false);
});
