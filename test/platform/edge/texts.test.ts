/** Tests that no text of a caller has characters or links that act on those who read it. */
import { create, type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { NotifyRequestSchema } from "../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { RegisterTargetRequestSchema } from "../../../src/gen/meguri/reactions/v1/reaction_service_pb.ts";
import { createRequestValidator } from "../../../src/platform/edge/validator.ts";
import { messagesOf, services } from "../../support/fixtures/descriptors.ts";

const validator = createRequestValidator();

/** The fields of a message that the validator refuses. */
const refusedFields = (schema: DescMessage, values: Record<string, unknown>): string[] =>
  (validator.validate(schema, create(schema, values)).violations ?? []).flatMap(({ field }) =>
    field.map((part) => ("name" in part ? String(part.name) : "")),
  );

/** The messages of requests, and those in them. */
const requests = new Set<DescMessage>();
function collect(message: DescMessage): void {
  if (requests.has(message) || message.file.name.startsWith("google/")) return;
  requests.add(message);
  for (const field of message.fields) if (field.message) collect(field.message);
}
for (const { methods } of services) for (const { input } of methods) collect(input);

/** Not stored, or checked by a use case, row by row or as what they name. */
const others = [
  // Stored without such characters, which test/feed/rpc/reactions/display-texts.test.ts tests.
  /\.(title|display_name)$/,
  /\.(page_token|etag|notification_id|time_zone|reason_prefix)$/,
  /^meguri\.bulkgrants\.v1\.NewRow\./,
  // Of a program, what only answers have.
  /^meguri\.(access\.v1\.Caller|programs\.v1\.Program\.(RulesChange|ReservationPause))\b/,
];

const texts = [...requests]
  .flatMap(({ fields }) => fields)
  .filter(({ scalar }) => scalar === ScalarType.STRING)
  .map((field) => [`${field.parent.typeName}.${field.name}`, field] as [string, DescField])
  .filter(([name]) => !others.some((other) => other.test(name)));

test.each(texts)("%s refuses control characters and bidirectional controls", (_, field) => {
  for (const control of ["\n", "\u0000", "\u001b", "\u0085", "\u2028", "\u202e", "\u2066"]) {
    const text = `a${control}b`;
    const value = field.fieldKind === "list" ? [text] : text;
    const values = field.oneof
      ? { [field.oneof.localName]: { case: field.localName, value } }
      : { [field.localName]: value };
    expect(refusedFields(field.parent, values)).toContain(field.name);
  }
});

test("the list has texts and names of several services", () => {
  const names = messagesOf(services.map(({ file }) => file)).map(({ typeName }) => typeName);
  expect(texts.filter(([, { parent }]) => names.includes(parent.typeName)).length).toBeGreaterThan(
    60,
  );
});

/** Whether the link is refused, of a target and of an event. */
const linkIsRefused = (link: string): boolean[] =>
  [RegisterTargetRequestSchema, NotifyRequestSchema].map((schema) =>
    refusedFields(schema, { link }).includes("link"),
  );

test.each([
  "",
  "/",
  "/posts/1?tab=likes#comment-2",
  "/記事/1",
  "http://a.test",
  "https://a.test:8443/posts/1?to=alice@b.test",
  "https://記事.test/1",
  "https://a.test?x#y",
])("%j is a link", (link) => {
  expect(linkIsRefused(link)).toEqual([false, false]);
});

test.each([
  "javascript:alert(1)",
  "JavaScript:alert(1)",
  "data:text/html,x",
  "mailto:a@b.test",
  "ftp://a.test",
  "//evil.test",
  "/\\evil.test",
  "https:/a.test",
  "https://",
  "https://bank.test@evil.test/",
  "https://a.test/a b",
  "https://a.test/\u202etxt",
  " https://a.test",
  "/a\nb",
  '/"onclick="x',
  "/<script>",
  "posts/1",
])("%j is no link", (link) => {
  expect(linkIsRefused(link)).toEqual([true, true]);
});
