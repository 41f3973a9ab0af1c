/** Tests how the client reads the reason of an error and the metadata of each reason. */
import { Code, ConnectError } from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, expectTypeOf, test } from "vitest";
import { isRefusal, metadataOf, type ReasonMetadata } from "../../packages/client/src/index.ts";
import { ErrorInfoSchema } from "../../src/gen/google/rpc/error_details_pb.ts";
import { toConnectError } from "../../src/platform/edge/errors.ts";
import { DomainError } from "../../src/platform/words/errors.ts";
import { type Reason, reasons, reasonTable } from "../../src/platform/words/reasons.ts";

/** An error as a server makes it, with any metadata. */
function errorWith(reason: string, metadata: Record<string, string>): ConnectError {
  const value = { domain: "meguri", reason, metadata };
  const details = [{ desc: ErrorInfoSchema, value }];
  return new ConnectError("refused", Code.FailedPrecondition, undefined, details);
}

const metadataOfRefusal = (reason: Reason, error: unknown): unknown =>
  isRefusal(error, reason) ? error.reasonMetadata : undefined;

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const arbitraries: Readonly<Record<string, fc.Arbitrary<bigint | number | string>>> = {
  int64,
  integer: fc.maxSafeInteger(),
  text: fc.string(),
};

const localName = (name: string) =>
  name
    .split("_")
    .map((part, i) => (i === 0 ? part : part.charAt(0).toUpperCase() + part.slice(1)))
    .join("");

describe.each(reasons)("%s", (reason) => {
  const types = Object.entries(reasonTable[reason].metadata ?? {});

  test("what the server sends is read by its types", () => {
    const all = fc.record(
      Object.fromEntries(
        types.map(([name, type]) => {
          const arbitrary = arbitraries[type.replace("?", "")] as fc.Arbitrary<unknown>;
          return [name, type.endsWith("?") ? fc.option(arbitrary, { nil: undefined }) : arbitrary];
        }),
      ),
    );
    fc.assert(
      fc.property(all, (values) => {
        const set = Object.entries(values).filter(([, value]) => value !== undefined);
        const texts = Object.fromEntries(set.map(([name, value]) => [name, String(value)]));
        const error = toConnectError(new DomainError(reason, "why", texts));
        const read = Object.fromEntries(set.map(([name, value]) => [localName(name), value]));
        expect(metadataOfRefusal(reason, error)).toEqual(read);
        expect(metadataOf(error)).toEqual(texts);
      }),
      { numRuns: 20 },
    );
  });

  test("no other reason is this one", () => {
    const error = toConnectError(new DomainError("DRAINING", "why"));
    expect(isRefusal(error, reason)).toBe(reason === "DRAINING");
  });
});

test("amounts of points are bigints, in the names of TypeScript", () => {
  const error: unknown = errorWith("INSUFFICIENT_POINTS", { available_points: "9007199254740993" });
  expect.assert(isRefusal(error, "INSUFFICIENT_POINTS"));
  expectTypeOf(error.reasonMetadata.availablePoints).toEqualTypeOf<bigint>();
  expectTypeOf(error.code).toEqualTypeOf<Code>();
  expect(error.reasonMetadata.availablePoints).toBe(9_007_199_254_740_993n);
  // @ts-expect-error INSUFFICIENT_POINTS has no such metadata.
  expect(error.reasonMetadata.limit).toBeUndefined();
  expectTypeOf<ReasonMetadata<"LIMIT_EXCEEDED">["capturablePoints"]>().toEqualTypeOf<
    bigint | undefined
  >();
  expectTypeOf<ReasonMetadata<"LIMIT_EXCEEDED">["latestExpireMonth"]>().toEqualTypeOf<
    string | undefined
  >();
  expectTypeOf<ReasonMetadata<"REQUEST_TOO_LARGE">["limit"]>().toEqualTypeOf<number>();
  expectTypeOf<keyof ReasonMetadata<"ACCOUNT_FROZEN">>().toEqualTypeOf<never>();
});

test("a server cannot leave out, or add, metadata of a reason", () => {
  // @ts-expect-error It has to say how many points are available.
  new DomainError("INSUFFICIENT_POINTS", "why");
  // @ts-expect-error The table has no such metadata.
  new DomainError("INSUFFICIENT_POINTS", "why", { available_points: "1", points: "1" });
  // @ts-expect-error This reason has none.
  new DomainError("ACCOUNT_FROZEN", "why", { state: "FROZEN" });
  expect(new DomainError("WRONG_STATE", "why").metadata).toEqual({});
});

test.each([
  ["missing", {}],
  ["of another type", { available_points: "many" }],
  ["empty", { available_points: "" }],
  ["a fraction", { available_points: "1.5" }],
  ["more than 64 bits", { available_points: "9223372036854775808" }],
])("metadata that the reason always has, but is %s, is no such refusal", (_, metadata) => {
  const error = errorWith("INSUFFICIENT_POINTS", metadata);
  expect(isRefusal(error, "INSUFFICIENT_POINTS")).toBe(false);
  expect(metadataOf(error)).toEqual(metadata);
});

test("optional metadata that is unreadable is missing, and unknown metadata is left out", () => {
  const metadata = { limit: "high", capturable_points: "5", of_later: "x" };
  const error = errorWith("LIMIT_EXCEEDED", metadata);
  expect(metadataOfRefusal("LIMIT_EXCEEDED", error)).toEqual({ capturablePoints: 5n });
  expect(metadataOf(error)).toEqual(metadata);
});

test.each([
  ["undefined", undefined],
  ["null", null],
  ["a text", "INSUFFICIENT_POINTS"],
  ["an object without a prototype", Object.create(null)],
  ["an error of the application", new Error("mine")],
  ["an error of Connect", new ConnectError("away", Code.Unavailable)],
  ["a reason of a later version", errorWith("OF_LATER", {})],
  ["a frozen error", Object.freeze(errorWith("INSUFFICIENT_POINTS", { available_points: "1" }))],
])("%s is no refusal, and nothing is thrown", (_, thrown: unknown) => {
  expect(isRefusal(thrown, "INSUFFICIENT_POINTS")).toBe(false);
});
