/** A baseline for a start: connect-node serves one method, which reads one item by the SDK. */
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { PointsService } from "../../src/gen/meguri/points/v1/points_service_pb.ts";

const { MEGURI_DYNAMODB_ENDPOINT: endpoint = "", MEGURI_TABLE_PREFIX: prefix } = process.env;
const client = new DynamoDBClient({
  endpoint,
  credentials: { accessKeyId: "bench", secretAccessKey: "bench" },
});

const handler = connectNodeAdapter({
  routes: (router) =>
    router.service(PointsService, {
      async getBalance({ userId }) {
        const Key = { pk: { S: `A#default#${userId}` }, sk: { S: "A" } };
        await client.send(new GetItemCommand({ TableName: `${prefix}accounts`, Key }));
        return {};
      },
    }),
});

process.once("SIGTERM", () => process.exit(0));
const server = createServer(handler).listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ level: 30, msg: "ready", port }));
});
