/** Tests which names of Temporal are which subjects. */
import { expect, test } from "vitest";
import { parseApprovers } from "../../../src/platform/auth/approvers-file.ts";

const file = (...approvers: object[]) => JSON.stringify({ approvers });

test("a name is its subject, whatever its case and the blanks around it", () => {
  const subjectOf = parseApprovers(file({ name: "Alice", subject: "alice@example.com" }));
  expect(["alice", " Alice "].map(subjectOf)).toEqual(Array(2).fill("alice@example.com"));
  expect(subjectOf("alice@example.com")).toBeUndefined();
});

test.each([
  ["a name twice", file({ name: "a", subject: "x" }, { name: "A ", subject: "y" })],
  ["no subject", file({ name: "a" })],
  ["a subject that no token has", file({ name: "a", subject: "a b" })],
  ["another field", JSON.stringify({ approvers: [], approver: [] })],
  ["no JSON", "alice: alice@example.com"],
])("a file with %s is refused", (_, content) => {
  expect(() => parseApprovers(content)).toThrow();
});
