/** Tests what is counted as throttled: errors, items of transactions, and what batches leave. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  GetItemCommand,
  QueryCommand,
  TransactWriteItemsCommand,
} from "@aws-sdk/client-dynamodb";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { targetOf } from "../../../../src/feed/store/codecs/reactions.ts";
import { type Clients, createClients } from "../../../../src/platform/dynamodb/sdk/client.ts";
import { accountOf } from "../../../../src/points/store/codecs/points.ts";
import { codeNamed } from "../../../support/markdown.ts";

const hotKeys = { targetOf, accountOf };

let server: Server;
let clients: Clients;
/** The next answers; after the last one all requests are answered well. */
let answers: { readonly status: number; readonly body: unknown }[];

describe.each(["thin", "sdk"] as const)("the transport %s", (transport) => {
  beforeEach(async () => {
    answers = [];
    server = createServer((_, response) => {
      const { status, body } = answers.shift() ?? { status: 200, body: {} };
      response.writeHead(status).end(JSON.stringify(body));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const endpoint = `http://127.0.0.1:${port}`;
    clients = createClients({ endpoint, region: "local", transport, hotKeys });
  });

  afterEach(() => {
    clients.close();
    server.close();
  });

  const refused = (__type: string, more: object = {}) => ({
    status: 400,
    body: { __type, ...more },
  });
  const throttled = () => refused("com.amazonaws.dynamodb#ThrottlingException");

  const key = (pk: string) => ({ pk: { S: pk }, sk: { S: "T" } });
  const get = (pk: string) => new GetItemCommand({ TableName: "reactions", Key: key(pk) });

  const tables = async () => {
    const { values } = await clients.tallies.throttles.get();
    return Object.fromEntries(values.map(({ labels, value }) => [labels.table, value]));
  };
  const targets = async () => {
    const { values } = await clients.tallies.targetSamples.get();
    return Object.fromEntries(values.map(({ labels, value }) => [labels.target_hash, value]));
  };
  const hashOf = (id: string) =>
    createHash("sha256").update(`post#${id}`).digest("hex").slice(0, 12);

  test("each attempt that is refused counts for its table, other errors do not", async () => {
    answers = [throttled(), throttled()];
    await clients.retrying.send(get("T#post#1"));
    answers = [refused("com.amazonaws.dynamodb#ValidationException"), throttled()];
    await expect(clients.single.send(get("T#post#1"))).rejects.toThrow();
    expect(await tables()).toEqual({ reactions: 2 });
    await expect(clients.single.send(get("T#post#1"))).rejects.toThrow();
    expect(await tables()).toEqual({ reactions: 3 });
  });

  test("of a transaction the throttled items count", async () => {
    const Reasons = (...codes: string[]) => ({
      CancellationReasons: codes.map((Code) => ({ Code })),
    });
    answers = [
      refused("TransactionCanceledException", Reasons("None", "ThrottlingError", "None")),
      refused("TransactionCanceledException", Reasons("None", "TransactionConflict", "None")),
      refused(
        "TransactionCanceledException",
        Reasons("ProvisionedThroughputExceeded", "None", "None"),
      ),
    ];
    const command = new TransactWriteItemsCommand({
      TransactItems: ["points", "reactions", "notifications"].map((TableName) => ({
        Delete: { TableName, Key: key("x") },
      })),
    });
    for (let i = 0; i < 3; i++) await expect(clients.single.send(command)).rejects.toThrow();
    expect(await tables()).toEqual({ reactions: 1, points: 1 });
  });

  test("what a batch leaves unprocessed counts once for its table", async () => {
    const Keys = [key("T#post#1"), key("T#post#2")];
    answers = [
      { status: 200, body: { UnprocessedKeys: { reactions: { Keys } } } },
      { status: 200, body: { UnprocessedItems: { bulk: [{ DeleteRequest: { Key: key("x") } }] } } },
    ];
    await clients.single.send(new BatchGetItemCommand({ RequestItems: { reactions: { Keys } } }));
    const requests = [{ DeleteRequest: { Key: key("x") } }];
    await clients.single.send(new BatchWriteItemCommand({ RequestItems: { bulk: requests } }));
    await clients.single.send(new BatchGetItemCommand({ RequestItems: { reactions: { Keys } } }));
    expect(await tables()).toEqual({ reactions: 1, bulk: 1 });
  });

  test("every tenth request for the records of a target is a sample of it", async () => {
    const query = new QueryCommand({
      TableName: "reactions",
      KeyConditionExpression: "pk = :p",
      ExpressionAttributeValues: { ":p": { S: "R#post#hot#like#0" } },
    });
    for (let i = 0; i < 9; i++) {
      answers = [throttled(), throttled()];
      await expect(clients.single.send(get("T#post#hot"))).rejects.toThrow();
      // Not a target's.
      await expect(clients.single.send(get("P"))).rejects.toThrow();
    }
    expect(await targets()).toEqual({});
    answers = [throttled()];
    await expect(clients.single.send(query)).rejects.toThrow();
    expect(await targets()).toEqual({ [hashOf("hot")]: 1 });
    expect(await tables()).toEqual({ reactions: 19 });
  });

  test("a target has the hash of the documentation, and no name", async () => {
    for (let i = 0; i < 10; i++) {
      answers = [throttled()];
      await expect(clients.single.send(get("T#post#4711"))).rejects.toThrow();
    }
    const command = ["-c", codeNamed("docs/run/metrics.md", "target_hash")];
    const hash = execFileSync("sh", command, { encoding: "utf8" }).trim();
    expect(hash).toMatch(/^[0-9a-f]{12}$/);
    const { values } = await clients.tallies.targetSamples.get();
    expect(values).toEqual([{ labels: { target_type: "post", target_hash: hash }, value: 1 }]);
  });

  test("every tenth request for the records of an account is a sample of it", async () => {
    const ofLedger = new QueryCommand({
      TableName: "points",
      KeyConditionExpression: "pk = :p",
      ExpressionAttributeValues: { ":p": { S: "A#shop#alice" } },
    });
    for (let i = 0; i < 10; i++) {
      answers = [throttled(), throttled()];
      await expect(clients.single.send(get("A#shop#alice"))).rejects.toThrow();
      await expect(clients.single.send(ofLedger)).rejects.toThrow();
    }
    const command = ["-c", codeNamed("docs/run/metrics.md", "account_hash")];
    const hash = execFileSync("sh", command, { encoding: "utf8" }).trim();
    const { values } = await clients.tallies.accountSamples.get();
    expect(values).toEqual([{ labels: { account_hash: hash }, value: 2 }]);
    expect(await targets()).toEqual({});
  });

  test("the targets with the latest samples are kept", async () => {
    const sample = async (id: string) => {
      for (let i = 0; i < 10; i++) {
        answers = [throttled()];
        await expect(clients.single.send(get(`T#post#${id}`))).rejects.toThrow();
      }
    };
    for (let i = 0; i < 100; i++) await sample(`t${i}`);
    await sample("t0");
    await sample("new");
    const found = await targets();
    expect(Object.keys(found)).toHaveLength(100);
    const samples = ["t0", "t1", "t2", "new"].map((id) => found[hashOf(id)]);
    expect(samples).toEqual([2, undefined, 1, 1]);
  });
});
