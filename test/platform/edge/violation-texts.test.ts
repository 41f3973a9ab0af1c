/** Tests the words of refusals: complete for all rules of the protos, and plain. */
import {
  create,
  createRegistry,
  type DescExtension,
  type DescField,
  getOption,
  hasOption,
  toJson,
} from "@bufbuild/protobuf";
import { createValidator } from "@bufbuild/protovalidate";
import * as validate from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { file_meguri_rules_v1_rules as rulesFile } from "../../../src/gen/meguri/rules/v1/rules_pb.ts";
import { createRequestValidator } from "../../../src/platform/edge/validator.ts";
import { allowedText, describeViolations } from "../../../src/platform/edge/violation-texts.ts";
import { messagesOf, services } from "../../support/fixtures/descriptors.ts";

const predefined = rulesFile.extensions;
const registry = createRegistry(rulesFile);

/** The type whose fields a predefined rule concerns, such as `string`. */
const typeOf = (rule: DescExtension) => rule.extendee.name.replace(/Rules$/, "").toLowerCase();

const files = new Set(services.flatMap(({ file }) => [file, ...file.dependencies]));
const fields = messagesOf([...files])
  .flatMap((message) => message.fields)
  .filter((field) => hasOption(field, validate.field));

/** Every rule of the protos by its path, such as `string.pattern`, with its value. */
function* rulesOf(json: unknown, path: readonly string[] = []): Generator<[string, unknown]> {
  for (const [name, value] of Object.entries(json ?? {})) {
    if (typeof value === "object" && !Array.isArray(value)) yield* rulesOf(value, [...path, name]);
    else yield [[...path, name].join(".").replace(/^repeated\.items\./, ""), value];
  }
}

const rulesOfField = (field: DescField) => [
  ...rulesOf(
    toJson(validate.FieldRulesSchema, getOption(field, validate.field), {
      useProtoFieldName: true,
      registry,
    }),
  ),
];

describe("every rule of the protos", () => {
  /** What a text is made for. A rule that is new has to be added there and here. */
  const known = [
    ...["min_len", "max_len", "min_bytes", "max_bytes"].map((name) => `string.${name}`),
    ...predefined.map((rule) => `${typeOf(rule)}.[${rule.typeName}]`),
    "bytes.max_len",
    ...["int32", "int64", "timestamp"].flatMap((type) => [`${type}.gte`, `${type}.lte`]),
    ...["duration.gt", "duration.gte", "duration.lte"],
    "int32.in",
    ...["enum.defined_only", "enum.not_in"],
    ...["repeated.min_items", "repeated.max_items", "repeated.unique"],
    ...["required", "ignore", "cel"],
  ];

  test("is one that has words", () => {
    const used = fields.flatMap((field) => rulesOfField(field).map(([name]) => name));
    expect([...new Set(used)].filter((name) => !known.includes(name))).toEqual([]);
    expect(used.length).toBeGreaterThan(200);
  });

  test("that is a pattern is predefined, with a message that agrees with it", () => {
    const used = fields.flatMap((field) => rulesOfField(field).map(([name]) => name));
    for (const rule of predefined) {
      const { cel } = getOption(rule, validate.predefined);
      expect(cel).toHaveLength(1);
      const { id, message, expression } = cel[0] as (typeof cel)[number];
      expect(id).toBe(`${typeOf(rule)}.${rule.name}`);
      expect(used).toContain(`${typeOf(rule)}.[${rule.typeName}]`);
      const [, most] = /\{(?:\d+,)?(\d+)\}(?:\)\?)?\$/.exec(expression) ?? [];
      if (most === undefined) continue;
      const length = Number(most) + (expression.includes("][") ? 1 : 0);
      expect(message).toMatch(new RegExp(`^(1 to )?${length} `));
    }
    expect(predefined.length).toBeGreaterThan(10);
  });
});

test("a text is matched as by RE2", () => {
  const [ours, re2] = [createRequestValidator(), createValidator({ registry })];
  const text = fc.string({ unit: fc.constantFrom(..."aZ0-_#!~$. é\n\u0085\u2028\u202e\u2066😀") });
  const kinds = services.flatMap(({ methods }) => methods.map(({ input }) => input));
  const requests = kinds.flatMap((input) => {
    const texts = input.fields.filter(
      (field) => field.fieldKind === "scalar" && field.scalar === 9,
    );
    return texts.map((field) => [input, field.localName] as const);
  });
  const sample = fc.tuple(fc.constantFrom(...requests), text);
  fc.assert(
    fc.property(sample, ([[input, name], value]) => {
      const message = create(input, { [name]: value });
      const [a, b] = [ours.validate(input, message), re2.validate(input, message)];
      expect(a.violations).toEqual(b.violations);
    }),
  );
});

const textOf = (path: string) => {
  const field = fields.find(({ name, parent }) => `${parent.name}.${name}` === path);
  return allowedText(field as DescField);
};

test.each([
  ["GrantPointsRequest.user_id", "1 to 128 visible ASCII characters without #"],
  ["GrantPointsRequest.points", "1 to 1,000,000,000"],
  [
    "GrantPointsRequest.reason",
    "at most 128 bytes, without control characters and bidirectional controls",
  ],
  [
    "RegisterTargetRequest.link",
    "at most 200 bytes, an http(s) URL, or a path that begins with one /, or empty",
  ],
  ["MarkNotificationReadRequest.notification_id", "1 to 1,280 characters"],
  ["MarkNotificationReadRequest.version", "1 or more"],
  ["ReactRequest.display_name", "1 to 4,096 bytes"],
  ["SubmitBulkGrantRequest.csv", "at most 4,194,304 bytes"],
  ["CheckSheetRequest.csv", "at most 2,097,152 bytes"],
  ["BatchCreateReservationsRequest.reservations", "1 to 100 items"],
  ["ListNotificationsRequest.state", "one of STATE_UNSPECIFIED, STATE_UNREAD, STATE_READ"],
  [
    "ListLedgerEntriesRequest.create_time_before",
    "1970-01-01T00:00:01Z to 9999-12-31T23:59:59.999999999Z",
  ],
  ["AdvanceRequest.duration", "more than 0 s, at most 3,155,760,000 s"],
  ["RevokePointsRequest.grant_event", ""],
])("%s: %s", (path, text) => {
  expect(textOf(path)).toBe(text);
});

describe("a violation", () => {
  const validator = createRequestValidator();
  const methods = services.flatMap((service) => service.methods);

  function textsOf(method: string, init: Record<string, unknown>): string[] {
    const { input } = methods.find(({ name }) => name === method) as (typeof methods)[number];
    const message = create(input, init);
    const { violations = [] } = validator.validate(input, message);
    const texts = describeViolations(input, message, violations);
    return texts.map(({ field, description }) => `${field}: ${description}`);
  }

  test.each<[string, string, Record<string, unknown>, readonly string[]]>([
    [
      "of an empty id is that it is required",
      "GrantPoints",
      { points: 1n },
      ["user_id: is required", "event_id: is required"],
    ],
    [
      "of two rules of one field is told once",
      "GrantPoints",
      { userId: "u", eventId: "e", points: 1n, reason: `\n${"x".repeat(128)}` },
      ["reason: at most 128 bytes, without control characters and bidirectional controls"],
    ],
    ["of a required message", "GetForecast", { userId: "u" }, ["time: is required"]],
    [
      "of a required choice",
      "GetLedgerEntry",
      { userId: "u" },
      ["key: one of number, event is required"],
    ],
    [
      "of an item of a list names the item",
      "ListLedgerEntries",
      { userId: "u", types: [1, 99] },
      [expect.stringMatching(/^types\[1\]: one of TYPE_ISSUED, TYPE_USED, /) as never],
    ],
    [
      "of a list",
      "ListLedgerEntries",
      { userId: "u", types: [1, 1] },
      [expect.stringMatching(/^types: at most 11 different items, each one of TYPE_IS/) as never],
    ],
    [
      "of a nested field",
      "BatchGetReactionSummaries",
      { targetNames: [{ type: "post", id: "a b" }] },
      ["target_names[0].id: 1 to 256 visible ASCII characters without #"],
    ],
    [
      "of a rule with a message of its own",
      "WatchUnreadCounts",
      { watches: [{ ownerId: "o" }, { ownerId: "o" }] },
      ["watches: each owner once"],
    ],
  ])("%s", (_, method, init, texts) => {
    expect(textsOf(method, init)).toEqual(texts);
  });
});
