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
    fc.constantFrom("\u200b", "\u200d", "\u200f", "\ufeff", "\u2800", "\u3164", "\u{e007f}"),
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

test.each(["\u200b", "a\u200b", "\ufeffa", "\u3164", "a\u2800", "a\u200f"])(
  "%j is none: nobody sees its first or last character",
  (text) => {
    expect(isBulkGrantId(text)).toBe(false);
  },
);

test.each(["می\u200cروم", "👩\u200d💻", "春❤\ufe0f", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"])("%j is one", (text) => {
  expect(isBulkGrantId(text)).toBe(true);
});

test("a long text without an end is refused at once", () => {
  expect(isBulkGrantId(`a${" ".repeat(1_000_000)}`)).toBe(false);
});
