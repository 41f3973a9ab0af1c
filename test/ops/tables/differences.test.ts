/** Each way in which a table may differ from its definition has a line with both. */
import { expect, test } from "vitest";
import { localTableDefinitions, tableDefinitions } from "../../../src/ops/tables/definitions.ts";
import {
  differencesOf,
  type FoundTable,
  isMendedBySetup,
  lineOf,
} from "../../../src/ops/tables/differences.ts";
import { tableName } from "../../../src/platform/dynamodb/tables.ts";

const definitions = tableDefinitions(tableName("shop-"));
const [accounts, , reservations, , reactions] = definitions;
if (!accounts || !reservations || !reactions) throw new Error("a definition is missing");

type Description = FoundTable["description"];

/** A table as its definition says, but for some of it. */
const found = (
  { create, ...rest }: typeof accounts,
  changes: Description = {},
  more: Partial<FoundTable> = {},
): FoundTable => ({
  description: { TableStatus: "ACTIVE", ...(create as Description), ...changes },
  ...rest,
  ...more,
});

const [expiry] = accounts.create.GlobalSecondaryIndexes ?? [];
const [byN] = reactions.create.LocalSecondaryIndexes ?? [];
const expiryText = "global, HASH xp (S), RANGE xm (N), projection KEYS_ONLY";

test("a table as its definition says has no difference", () => {
  expect(definitions.flatMap((each) => differencesOf(each, found(each)))).toEqual([]);
});

test.each<[string, typeof accounts, FoundTable | undefined, boolean, boolean]>([
  ["shop-accounts: the table is missing, and should be there", accounts, undefined, true, true],
  [
    "shop-accounts: the key is HASH pk (S), and should be HASH pk (S), RANGE sk (S)",
    accounts,
    found(accounts, { KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }] }),
    true,
    false,
  ],
  [
    "shop-accounts: the key is HASH pk (S), RANGE sk (N), and should be HASH pk (S), RANGE sk (S)",
    accounts,
    found(accounts, {
      AttributeDefinitions: accounts.create.AttributeDefinitions?.map((each) =>
        each.AttributeName === "sk" ? { ...each, AttributeType: "N" as const } : each,
      ),
    }),
    true,
    false,
  ],
  [
    `shop-accounts: the index expiry is missing, and should be ${expiryText}`,
    accounts,
    found(accounts, { GlobalSecondaryIndexes: [] }),
    true,
    true,
  ],
  [
    `shop-accounts: the index expiry is ${expiryText}, CREATING, and should be ${expiryText}`,
    accounts,
    found(accounts, { GlobalSecondaryIndexes: [{ ...expiry, IndexStatus: "CREATING" }] }),
    true,
    false,
  ],
  [
    "shop-accounts: the index expiry is global, HASH xp (S), RANGE xm (N), projection INCLUDE " +
      `a b, and should be ${expiryText}`,
    accounts,
    found(accounts, {
      GlobalSecondaryIndexes: [
        { ...expiry, Projection: { ProjectionType: "INCLUDE", NonKeyAttributes: ["b", "a"] } },
      ],
    }),
    true,
    false,
  ],
  [
    "shop-accounts: the index report is global, HASH xp (S), projection ALL, and should be absent",
    accounts,
    found(accounts, {
      GlobalSecondaryIndexes: [
        { ...expiry },
        {
          IndexName: "report",
          KeySchema: [{ AttributeName: "xp", KeyType: "HASH" }],
          Projection: { ProjectionType: "ALL" },
        },
      ],
    }),
    false,
    false,
  ],
  [
    "shop-reactions: the index by-n is missing, and should be local, HASH pk (S), RANGE n (N), " +
      "projection ALL",
    reactions,
    found(reactions, { LocalSecondaryIndexes: [] }),
    true,
    false,
  ],
  [
    "shop-reactions: the index by-n is global, HASH pk (S), RANGE n (N), projection ALL, and " +
      "should be local, HASH pk (S), RANGE n (N), projection ALL",
    reactions,
    found(reactions, {
      LocalSecondaryIndexes: [],
      GlobalSecondaryIndexes: [...(reactions.create.GlobalSecondaryIndexes ?? []), { ...byN }],
    }),
    true,
    false,
  ],
  [
    "shop-reactions: time to live is off, and should be by ttl",
    reactions,
    found(reactions, {}, { ttlAttribute: undefined }),
    true,
    true,
  ],
  [
    "shop-accounts: time to live is by t, and should be off",
    accounts,
    found(accounts, {}, { ttlAttribute: "t" }),
    true,
    false,
  ],
  [
    "shop-accounts: the stream is off, and should be NEW_AND_OLD_IMAGES",
    accounts,
    found(accounts, { StreamSpecification: undefined }),
    false,
    false,
  ],
  [
    "shop-accounts: deletion protection is off, and should be on",
    accounts,
    found(accounts, { DeletionProtectionEnabled: false }),
    false,
    false,
  ],
  [
    "shop-accounts: point-in-time recovery is off, and should be on",
    accounts,
    found(accounts, {}, { hasPointInTimeRecovery: false }),
    false,
    false,
  ],
])("%s", (line, definition, table, isBreaking, isMended) => {
  const differences = differencesOf(definition, table);
  expect(differences.map(lineOf)).toEqual([line]);
  expect(differences).toMatchObject([{ isBreaking }]);
  expect(differences.map(isMendedBySetup)).toEqual([isMended]);
});

test("what the store does not know, and what parameters decide, is no difference", () => {
  const units = { ReadCapacityUnits: 5, WriteCapacityUnits: 5 };
  const provisioned = { BillingMode: "PROVISIONED" as const, ProvisionedThroughput: units };
  const table = found(accounts, provisioned, { hasPointInTimeRecovery: undefined });
  expect(differencesOf(accounts, table)).toEqual([]);
});

test("DynamoDB Local needs no protection, and may have it", () => {
  const locals = localTableDefinitions(tableName("shop-"));
  const bare = locals.flatMap((each) => differencesOf(each, found(each)));
  const protectedTables = locals.flatMap((each, i) =>
    differencesOf(each, found(definitions[i] ?? each)),
  );
  expect([...bare, ...protectedTables]).toEqual([]);
  expect(locals.map(({ create }) => Object.keys(create))).toEqual(
    locals.map(() => expect.not.arrayContaining(["DeletionProtectionEnabled"])),
  );
});
