/** Tests the store with answers of DynamoDB that DynamoDB Local never gives. */

import { randomUUID } from "node:crypto";
import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  DeleteItemCommand,
  DynamoDBServiceException,
  InternalServerError,
  ProvisionedThroughputExceededException,
  PutItemCommand,
  TransactionCanceledException,
  TransactionConflictException,
  TransactionInProgressException,
  TransactWriteItemsCommand,
} from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";
import { pendingStartRef } from "../../../src/due/ports/records.ts";
import { reactionRef } from "../../../src/feed/ports/records.ts";
import { memberQueries } from "../../../src/feed/store/group-members.ts";
import { createDynamoPurger } from "../../../src/feed/store/purger.ts";
import type { Item } from "../../../src/platform/dynamodb/sdk/attributes.ts";
import type { Clients } from "../../../src/platform/dynamodb/sdk/client.ts";
import type { Write } from "../../../src/platform/engine/item-store.ts";
import type { Ref } from "../../../src/platform/ports/records.ts";
import { accountRef } from "../../../src/points/ports/records.ts";
import { noTotals } from "../../../src/points/rules/ledger.ts";
import { toItem } from "../../../src/store/codecs.ts";
import { createDynamoItemStore } from "../../../src/store/item-store.ts";
import { createDynamoReader } from "../../../src/store/readers.ts";
import { unpaced } from "../../support/fixtures/unpaced.ts";

/** Clients whose answers a test defines. */
function clientsOn(send: (command: unknown) => unknown): Clients {
  const client = { send: async (command: unknown) => send(command) };
  return { retrying: client, single: client } as unknown as Clients;
}

const storeOn = (send: (command: unknown) => unknown) =>
  createDynamoItemStore(clientsOn(send).single, (table) => table);

const account = {
  programId: "p",
  userId: "u",
  month: 24_322,
  slots: [1],
  totals: { ...noTotals, issuedPoints: 1 },
  frozen: false,
  last: 1,
  time: 5,
};
const ref = accountRef("p", "u");
const $metadata = { httpStatusCode: 400 };

describe("reading many", () => {
  const refs = Array.from({ length: 10 }, (_, i) => accountRef("p", `u${i}`));
  const keyOf = ({ id }: Ref): Item => ({ pk: { S: `A#${id}` }, sk: { S: "A" } });

  test("sends unprocessed keys again, three keys an answer", async () => {
    let requestCount = 0;
    const store = storeOn((command) => {
      requestCount += 1;
      const { RequestItems } = (command as BatchGetItemCommand).input;
      const keys = RequestItems?.accounts?.Keys as Item[];
      const read = keys.slice(0, 3).map((key) => ({ ...toItem(ref, account, 7), ...key }));
      const left = keys.slice(3);
      const UnprocessedKeys = left.length > 0 ? { accounts: { Keys: left } } : {};
      return { Responses: { accounts: read }, UnprocessedKeys };
    });
    const loaded = await store.read(refs);
    expect(loaded.map(({ value }) => value)).toEqual(
      refs.map((_, i) => ({ ...account, userId: `u${i}` })),
    );
    expect(requestCount).toBe(4);
  });

  test("gives up when nothing is ever read", async () => {
    let requestCount = 0;
    const store = storeOn((command) => {
      requestCount += 1;
      expect(command).toBeInstanceOf(BatchGetItemCommand);
      return { Responses: {}, UnprocessedKeys: { accounts: { Keys: refs.map(keyOf) } } };
    });
    await expect(store.read(refs)).rejects.toMatchObject({ reason: "THROTTLED" });
    expect(requestCount).toBeLessThan(20);
  });
});

describe("purging", () => {
  const target = { type: "post", id: "1" };
  const Items = Array.from({ length: 60 }, (_, i) => ({ pk: { S: "p" }, sk: { S: `u${i}` } }));

  test("sends unprocessed deletes again, 25 keys at once", async () => {
    const deleted: Item[] = [];
    const sizes: number[] = [];
    const clients = clientsOn((command) => {
      if (!(command instanceof BatchWriteItemCommand)) return { Items };
      const requests = command.input.RequestItems?.reactions ?? [];
      sizes.push(requests.length);
      deleted.push(...requests.slice(0, 20).map(({ DeleteRequest }) => DeleteRequest?.Key as Item));
      const left = requests.slice(20);
      return { UnprocessedItems: left.length > 0 ? { reactions: left } : {} };
    });
    expect(
      await createDynamoPurger(clients, (table) => table, unpaced).reactions(target, "like"),
    ).toBe(false);
    expect(sizes).toEqual([25, 5, 25, 5, 10]);
    expect(deleted).toEqual(Items);
  });

  test("gives up when nothing is ever deleted", async () => {
    let requestCount = 0;
    const clients = clientsOn((command) => {
      requestCount += 1;
      return command instanceof BatchWriteItemCommand
        ? { UnprocessedItems: command.input.RequestItems }
        : { Items };
    });
    const purge = createDynamoPurger(clients, (table) => table, unpaced).reactions(target, "like");
    await expect(purge).rejects.toMatchObject({ reason: "THROTTLED" });
    expect(requestCount).toBeLessThan(20);
  });
});

describe("a store that is away", () => {
  const away = clientsOn(() => {
    throw Object.assign(new Error("reset"), { code: "ECONNRESET" });
  });
  const target = { type: "post", id: "1" };
  const store = createDynamoItemStore(away.single, (table) => table);
  const reader = createDynamoReader(away, (table) => table);
  const queries = memberQueries(away.single, "reactions");
  const purger = createDynamoPurger(away, (table) => table, unpaced);
  const page = { size: 1, cursor: undefined };
  const members = { target, kind: "like" };

  test.each<[string, () => Promise<unknown>]>([
    ["an atomic read", () => store.readAtomically([ref])],
    ["recent members", () => reader.membersAfter(members, 1, 3)],
    ["the ends of a group", () => queries.memberEnds(members, 1, 3)],
    ["a split of a group", () => queries.splitMembers(members, { from: 1, at: 2, to: 3 }, 3)],
    ["many records", () => reader.many([ref])],
    ["reactions", () => reader.reactions({ target, kind: "like" }, page)],
    ["reactions of one person", () => reader.reactionsOfUser("u", page)],
    ["unread groups", () => reader.unreadGroups("o", true, page)],
    ["history", () => reader.readGroups("o", 0, page)],
    ["muted people", () => reader.mutedPeople("o", page)],
    ["muted targets", () => reader.mutedTargets("o", page)],
    ["inboxes", () => reader.inboxes(["o"])],
    ["purge of reactions", () => purger.reactions(target, "like")],
    ["pending purges", () => reader.pendingPurges(page)],
  ])("%s", async (_, read) => {
    await expect(read()).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
  });
});

test.each(["ThrottlingError", "ProvisionedThroughputExceeded"])(
  "an atomic read with %s is throttled",
  async (Code) => {
    const store = storeOn(() => {
      const CancellationReasons = [{ Code: "None" }, { Code }];
      throw new TransactionCanceledException({ message: "", $metadata, CancellationReasons });
    });
    const read = store.readAtomically([ref, accountRef("p", "u2")]);
    await expect(read).rejects.toMatchObject({ reason: "THROTTLED" });
  },
);

describe("a plain write", () => {
  const mark = { programId: "p", reservationId: "r", time: 7 };
  const markRef = pendingStartRef(mark);
  const created: Write = { ref: markRef, op: "put", value: mark, version: 0, next: 7 };
  const deleted: Write = { ref: markRef, op: "delete", value: undefined, version: 7, next: 0 };
  const checked: Write = { ref: markRef, op: "check", value: undefined, version: 7, next: 7 };
  const newAccount: Write = { ref, op: "put", value: account, version: 0, next: 1 };

  test.each<[string, unknown, readonly Write[]]>([
    ["creates one record of its kinds", PutItemCommand, [created]],
    ["deletes one", DeleteItemCommand, [deleted]],
    ["changes none", TransactWriteItemsCommand, [{ ...created, version: 7, next: 8 }]],
    ["checks none", TransactWriteItemsCommand, [checked]],
    ["is of no other kind", TransactWriteItemsCommand, [newAccount]],
    ["is alone", TransactWriteItemsCommand, [created, newAccount]],
  ])("%s", async (_, kind, writes) => {
    const sent: unknown[] = [];
    const store = storeOn((command) => sent.push(command));
    expect(await store.commit(writes, randomUUID())).toEqual({ kind: "committed" });
    expect(sent).toEqual([expect.any(kind)]);
  });

  test("waits while its item is in a transaction", async () => {
    const store = storeOn(() => {
      throw new TransactionConflictException({ message: "", $metadata });
    });
    expect(await store.commit([created], randomUUID())).toEqual({ kind: "conflict" });
  });
});

describe("the result of a transaction", () => {
  const other = accountRef("p", "u2");
  const writes: Write[] = [
    { ref, op: "put", value: account, version: 3, next: 4 },
    { ref: other, op: "put", value: account, version: 0, next: 1 },
  ];
  const commit = (error: unknown) =>
    storeOn(() => {
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
      "a failed condition on a record that is gone",
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

  test("reactions that fill a partition are a refusal with the name of their target", async () => {
    const target = { type: "post", id: "1" };
    const full = { Code: "ItemCollectionSizeLimitExceeded" };
    const react = (kind: string) =>
      storeOn(() => {
        throw cancelled({ Code: "None" }, full);
      }).commit(
        [
          { ref, op: "delete", value: undefined, version: 3, next: 0 },
          {
            ref: reactionRef(target, kind, "u"),
            op: "delete",
            value: undefined,
            version: 1,
            next: 0,
          },
        ],
        "token",
      );
    const refusal = {
      reason: "LIMIT_EXCEEDED",
      message: "the target post 1 holds at most 10 GB of like",
      metadata: { limit: "10 GB", target_type: "post", target_id: "1" },
    };
    await expect(react("like")).rejects.toMatchObject(refusal);
    const ofEvents = { message: "the target post 1 holds at most 10 GB of comment" };
    await expect(react("~comment")).rejects.toMatchObject(ofEvents);
    // A conflict may be over when the transaction is sent again, and so may be the full partition.
    const both = storeOn(() => {
      throw cancelled(full, { Code: "TransactionConflict" });
    });
    expect(await both.commit(writes, "token")).toEqual({ kind: "conflict" });
  });

  test.each<[string, unknown]>([
    ["a request that is wrong", named("ValidationException", 400)],
    ["no permission", named("AccessDeniedException", 400)],
    ["a table that is not there", named("ResourceNotFoundException", 400)],
    ["a cancellation reason that is unknown", cancelled({ Code: "ValidationError" })],
  ])("%s is thrown", async (_, error) => {
    await expect(commit(error)).rejects.toBe(error);
  });
});
