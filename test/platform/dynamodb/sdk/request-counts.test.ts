/** Tests how attempts of requests are counted: by operation, table and result, and their units. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { GetItemCommand, TransactWriteItemsCommand } from "@aws-sdk/client-dynamodb";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Clients, createClients } from "../../../../src/platform/dynamodb/sdk/client.ts";

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

let server: Server;
let clients: Clients;
/** The next answers. Without one, the connection is closed. */
let answers: Answer[];
let requests: string[];

describe.each(["thin", "sdk"] as const)("the transport %s", (transport) => {
  beforeEach(async () => {
    answers = [];
    requests = [];
    server = createServer(async (request, response) => {
      requests.push(await new Response(request as unknown as ReadableStream).text());
      const answer = answers.shift();
      if (answer) response.writeHead(answer.status).end(JSON.stringify(answer.body));
      else response.destroy();
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    clients = createClients({ endpoint: `http://127.0.0.1:${port}`, region: "local", transport });
  });

  afterEach(() => {
    clients.close();
    server.close();
  });

  const key = { pk: { S: "a" } };
  const get = () => new GetItemCommand({ TableName: "points", Key: key });
  const transact = () =>
    new TransactWriteItemsCommand({
      ClientRequestToken: "token",
      TransactItems: [
        { Put: { TableName: "points", Item: key } },
        { Put: { TableName: "points", Item: { pk: { S: "b" } } } },
        { Put: { TableName: "reservations", Item: key } },
      ],
    });

  const ok = (body: object): Answer => ({ status: 200, body });
  const error = (status: number, type: string, ...codes: string[]): Answer => ({
    status,
    body: {
      __type: `com.amazonaws.dynamodb#${type}`,
      CancellationReasons: codes.map((Code) => ({ Code })),
    },
  });

  const counted = async () => {
    const { values } = await clients.tallies.requests.get();
    return values.map(({ labels, value }) => [...Object.values(labels), value]);
  };

  test("each attempt counts for its tables by its result, and asks for its units", async () => {
    answers = [
      ok({ ConsumedCapacity: { TableName: "points", CapacityUnits: 0.5 } }),
      error(500, "InternalServerError"),
      error(400, "ThrottlingException"),
      ok({ ConsumedCapacity: { TableName: "points", CapacityUnits: 1 } }),
      error(400, "ValidationException"),
      error(
        400,
        "TransactionCanceledException",
        "None",
        "ThrottlingError",
        "ConditionalCheckFailed",
      ),
      error(400, "TransactionCanceledException", "None", "ThrottlingError", "None"),
      error(400, "TransactionCanceledException", "ItemCollectionSizeLimitExceeded", "None", "None"),
      ok({
        ConsumedCapacity: [
          { TableName: "points", CapacityUnits: 4 },
          { TableName: "reservations", CapacityUnits: 2 },
        ],
      }),
    ];
    await clients.retrying.send(get());
    await clients.retrying.send(get());
    await clients.retrying.send(get()).catch(() => undefined);
    for (let i = 0; i < 5; i++) await clients.single.send(transact()).catch(() => undefined);
    expect(await counted()).toEqual([
      ["GetItem", "points", "ok", 2],
      ["GetItem", "points", "failed", 1],
      ["GetItem", "points", "throttled", 1],
      ["GetItem", "points", "refused", 1],
      ...["conflict", "throttled", "refused", "ok", "unanswered"].flatMap((result) => [
        ["TransactWriteItems", "points", result, 1],
        ["TransactWriteItems", "reservations", result, 1],
      ]),
    ]);
    const { values: units } = await clients.tallies.units.get();
    expect(units.map(({ labels, value }) => [labels.table, labels.kind, value])).toEqual([
      ["points", "read", 1.5],
      ["points", "write", 4],
      ["reservations", "write", 2],
    ]);
    const { values: seconds } = await clients.tallies.seconds.get();
    const counts = seconds.filter(({ metricName }) => metricName?.endsWith("_count"));
    expect(counts.map(({ labels, value }) => [labels.operation, value])).toEqual([
      ["GetItem", 5],
      ["TransactWriteItems", 5],
    ]);
    for (const body of requests) {
      expect(JSON.parse(body)).toMatchObject({ ReturnConsumedCapacity: "TOTAL" });
    }
  });
});
