/** What the store makes of DynamoDB's answers that DynamoDB Local never gives. */
import {
  BatchGetItemCommand,
  DynamoDBServiceException,
  InternalServerError,
  ProvisionedThroughputExceededException,
  TransactionCanceledException,
  TransactionInProgressException,
} from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";
import { accountRef, type Ref } from "../../src/app/ports.ts";
import { type Clients, skewOf } from "../../src/store/dynamodb/client.ts";
import type { Item } from "../../src/store/dynamodb/codecs.ts";
import { toItem } from "../../src/store/dynamodb/codecs.ts";
import { createDynamoItems } from "../../src/store/dynamodb/items.ts";
import type { Write } from "../../src/store/items.ts";

/** The store on a client that answers as the test says. */
function itemsOn(send: (command: unknown) => unknown) {
  const client = { send: async (command: unknown) => send(command) };
  const clients = { retrying: client, single: client } as unknown as Clients;
  return createDynamoItems(clients, (table) => table);
}

const account = {
  program: "p",
  user: "u",
  month: 24_322,
  slots: [1],
  totals: { issued: 1, used: 0, expired: 0, refunded: 0, revoked: 0 },
  frozen: false,
  last: 1,
  time: 5,
};
const ref = accountRef("p", "u");
const $metadata = { httpStatusCode: 400 };

describe("reading many", () => {
  const refs = Array.from({ length: 10 }, (_, i) => accountRef("p", `u${i}`));
  const keyOf = ({ id }: Ref): Item => ({ pk: { S: `A#${id}` }, sk: { S: "A" } });

  test("asks again for what was left out, three keys an answer", async () => {
    let asked = 0;
    const items = itemsOn((command) => {
      asked += 1;
      const { RequestItems } = (command as BatchGetItemCommand).input;
      const keys = RequestItems?.points?.Keys as Item[];
      const read = keys.slice(0, 3).map((key) => ({ ...toItem(ref, account, 7), ...key }));
      const left = keys.slice(3);
      const UnprocessedKeys = left.length > 0 ? { points: { Keys: left } } : {};
      return { Responses: { points: read }, UnprocessedKeys };
    });
    const loaded = await items.read(refs);
    expect(loaded.map(({ value }) => value)).toEqual(
      refs.map((_, i) => ({ ...account, user: `u${i}` })),
    );
    expect(asked).toBe(4);
  });

  test("gives up when nothing is ever read", async () => {
    let asked = 0;
    const items = itemsOn((command) => {
      asked += 1;
      expect(command).toBeInstanceOf(BatchGetItemCommand);
      return { Responses: {}, UnprocessedKeys: { points: { Keys: refs.map(keyOf) } } };
    });
    await expect(items.read(refs)).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
    expect(asked).toBeLessThan(20);
  });
});

describe("what became of a transaction", () => {
  const other = accountRef("p", "u2");
  const writes: Write[] = [
    { ref, value: account, version: 3 },
    { ref: other, value: account, version: 0 },
  ];
  const commit = (error: unknown) =>
    itemsOn(() => {
      throw error;
    }).commit(writes, "token");
  const cancelled = (...CancellationReasons: object[]) =>
    new TransactionCanceledException({ message: "", $metadata, CancellationReasons });
  const named = (name: string, httpStatusCode: number, $fault: "client" | "server" = "client") =>
    new DynamoDBServiceException({ name, $fault, $metadata: { httpStatusCode }, message: "" });

  test.each<[string, unknown, object]>([
    ["a conflict", cancelled({ Code: "TransactionConflict" }), { kind: "conflict" }],
    ["throttling inside", cancelled({ Code: "ThrottlingError" }), { kind: "throttled" }],
    [
      "throughput inside",
      cancelled({ Code: "ProvisionedThroughputExceeded" }),
      { kind: "throttled" },
    ],
    [
      "a failed condition on what is gone",
      cancelled({ Code: "ConditionalCheckFailed" }),
      { kind: "failed", found: new Map([[ref, { value: undefined, version: 0 }]]) },
    ],
    [
      "a failed condition beside a conflict",
      cancelled(
        { Code: "ConditionalCheckFailed", Item: toItem(ref, account, 9) },
        { Code: "TransactionConflict" },
      ),
      { kind: "failed", found: new Map([[ref, { value: account, version: 9 }]]) },
    ],
    [
      "throttling",
      new ProvisionedThroughputExceededException({ message: "", $metadata }),
      { kind: "throttled" },
    ],
    ["too many requests", named("RequestLimitExceeded", 400), { kind: "throttled" }],
    [
      "in progress",
      new TransactionInProgressException({ message: "", $metadata }),
      { kind: "unknown" },
    ],
    [
      "an error of the server",
      new InternalServerError({ message: "", $metadata: { httpStatusCode: 500 } }),
      { kind: "unknown" },
    ],
    ["a gateway", named("ServiceUnavailable", 503, "server"), { kind: "unknown" }],
    [
      "a broken connection",
      Object.assign(new Error("reset"), { code: "ECONNRESET" }),
      {
        kind: "unknown",
      },
    ],
  ])("%s", async (_, error, result) => {
    expect(await commit(error)).toEqual(result);
  });

  test.each<[string, unknown]>([
    ["a request that is wrong", named("ValidationException", 400)],
    ["no permission", named("AccessDeniedException", 400)],
    ["a table that is not there", named("ResourceNotFoundException", 400)],
    ["a reason that is none", cancelled({ Code: "ValidationError" })],
  ])("%s is thrown", async (_, error) => {
    await expect(commit(error)).rejects.toBe(error);
  });
});

test.each<[string, number, number, number, number]>([
  ["the same second", 10_000, 10_200, 10_250, 0],
  ["the server's second begins while it is asked", 11_000, 10_900, 11_100, 0],
  ["the end of the server's second", 10_000, 10_990, 11_010, 0],
  ["a slow answer", 13_000, 10_500, 14_000, 0],
  ["ahead", 10_000, 17_500, 17_600, 6_500],
  ["behind", 20_000, 12_000, 12_100, -7_900],
])("the skew of a clock: %s", (_, date, sent, received, skew) => {
  expect(skewOf(date, sent, received)).toBe(skew);
});
