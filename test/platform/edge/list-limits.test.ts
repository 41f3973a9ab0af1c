/** Tests that a list that is too long is refused before its items are looked at. */
import { type DescMessage, type DescMethod, fromBinary, getOption } from "@bufbuild/protobuf";
import * as validate from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { describe, expect, test } from "vitest";
import { requireShortLists } from "../../../src/platform/edge/list-limits.ts";
import { services } from "../../support/fixtures/descriptors.ts";

/** The repeated fields in a message, each with the numbers that lead to it. */
function listsOf({ fields }: DescMessage, parents: readonly number[] = [], name = ""): List[] {
  return fields.flatMap((field) => {
    const numbers = [...parents, field.number];
    const path = `${name}${field.name}`;
    const nested = field.message ? listsOf(field.message, numbers, `${path}.`) : [];
    if (field.fieldKind !== "list") return nested;
    const { type } = getOption(field, validate.field);
    const maxItems = type.case === "repeated" ? Number(type.value.maxItems) : 0;
    const isPacked = field.listKind !== "message" && field.scalar !== 9;
    return [{ path, numbers, maxItems, isPacked }, ...nested];
  });
}

interface List {
  readonly path: string;
  readonly numbers: readonly number[];
  readonly maxItems: number;
  readonly isPacked: boolean;
}

/** A message with so many empty items in a list. */
function withItems({ numbers, isPacked }: List, count: number): Buffer {
  const [last, ...outer] = numbers.toReversed();
  const item = Buffer.from([((last ?? 0) << 3) | (isPacked ? 0 : 2), 0]);
  return outer.reduce(
    (inner: Buffer, number) => {
      const length = [
        (inner.length & 127) | 128,
        ((inner.length >> 7) & 127) | 128,
        inner.length >> 14,
      ];
      return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), inner]);
    },
    Buffer.alloc(count * 2, item),
  );
}

const methods: readonly DescMethod[] = services.flatMap((service) => service.methods);
const lists = methods.flatMap(({ name, input }) =>
  listsOf(input).map((list) => ({ ...list, name, input })),
);

describe("a list of a request", () => {
  test.each(lists.filter(({ maxItems }) => maxItems > 0))("$name: $path", (list) => {
    const parse = (count: number) => fromBinary(list.input, withItems(list, count));
    requireShortLists(list.input, parse(list.maxItems));
    const check = () => requireShortLists(list.input, parse(list.maxItems + 1));
    expect(check).toThrow(
      expect.objectContaining({
        violations: [
          { field: list.path, description: expect.stringContaining(String(list.maxItems)) },
        ],
      }),
    );
  });

  test("has a limit, unless its items have no rules", () => {
    const unlimited = lists.filter(({ maxItems }) => maxItems === 0);
    expect(unlimited.map(({ name, path }) => `${name}: ${path}`)).toEqual([
      "UpdateProgram: program.lifetime_changes",
      "UpdateProgram: program.rules_change.approvals",
      "UpdateProgram: update_mask.paths",
      "UpdatePreferences: update_mask.paths",
    ]);
  });
});
