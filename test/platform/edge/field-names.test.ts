/** Tests that a name of a field means one type in the whole contract. */
import type { DescField } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { messagesOf, services } from "../../support/fixtures/descriptors.ts";

/** What is both, and why: docs/decisions/0038-name-a-reference-apart-from-what-it-names.md. */
const exceptions = {
  cause: "what led to a change, which callers name, beside enums of what Meguri knows",
  events: "those that made a notification, and those of everything that changes",
  types: "of entries of a ledger, an enum, and of events, texts",
  type: "the type of a target, which services choose, beside enums of what Meguri knows",
  reservations: "those that a request describes, and those that exist",
  rows: "those that a request describes, and those of a bulk grant",
};

const files = services.map(({ file }) => file);

test("a field of one name has one type", () => {
  const types = new Map<string, Set<string>>();
  for (const message of messagesOf(withImports())) {
    for (const field of message.fields) {
      types.set(field.name, (types.get(field.name) ?? new Set()).add(typeOf(field)));
    }
  }
  const doubtful = [...types].filter(([, found]) => found.size > 1).map(([name]) => name);
  expect(doubtful.sort()).toEqual(Object.keys(exceptions).sort());
});

/** The files of the contract, with those that the services' files import. */
function withImports() {
  const all = new Map(
    files.flatMap((file) => [file, ...file.dependencies]).map((f) => [f.name, f]),
  );
  return [...all.values()].filter(({ name }) => name.startsWith("meguri/"));
}

/**
 * The type of a field. Nested types of one name count as one: each resource has a State of its own,
 * and each stream an End.
 */
function typeOf({ message, enum: values, scalar }: DescField): string {
  const named = message ?? values;
  if (!named) return `scalar ${scalar}`;
  return named.parent ? named.name : named.typeName;
}
