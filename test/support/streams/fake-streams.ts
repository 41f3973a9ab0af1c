/**
 * A server that speaks the protocol of DynamoDB Streams, and as much of DynamoDB's as leads to the
 * streams of its tables. fake-streams.check.ts holds it to the answers of DynamoDB Local.
 */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { FakeStream, invalid, Refusal } from "./fake-stream.ts";

/** A failure instead of an answer: an error of the service, silence, or a closed socket. */
type Failure = { readonly status: number; readonly type: string } | "SILENT" | "RESET";

/** A request by its operation, such as `GetRecords`, its table and its shard, if it names one. */
interface FakeRequest {
  readonly operation: string;
  readonly table: string;
  readonly shard: string | undefined;
}

interface FakeStreams {
  readonly endpoint: string;
  /** All requests so far. */
  readonly requests: readonly FakeRequest[];
  /** The streams of a table that was named at the start. */
  table(name: string): FakeStream;
  /** Lets some requests fail, or none any more. */
  fail(isMeant?: (request: FakeRequest) => boolean, failure?: Failure): void;
  stop(): Promise<void>;
}

/** Starts it with tables that each have a stream of one shard. */
export async function startFakeStreams(
  tables: readonly string[],
  { shardsOfPage = 100 } = {},
): Promise<FakeStreams> {
  const streams = new Map(tables.map((table) => [table, new FakeStream(table, shardsOfPage)]));
  const requests: FakeRequest[] = [];
  let failing = (_: FakeRequest): Failure | undefined => undefined;

  function table(name: string): FakeStream {
    const found = streams.get(name);
    if (found) return found;
    const type = "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException";
    throw new Refusal(type, "Cannot do operations on a non-existent table");
  }

  async function answer({ operation, table: name }: FakeRequest, input: never): Promise<object> {
    if (name === "") throw invalid("Invalid ShardIterator");
    const stream = table(name);
    switch (operation) {
      case "DescribeTable":
        return stream.describeTable();
      case "DescribeStream":
        return stream.describeStream(input);
      case "GetShardIterator":
        return stream.getShardIterator(input);
      default:
        return stream.getRecords(input);
    }
  }

  const server = createServer(async (incoming, response) => {
    const [, operation = ""] = String(incoming.headers["x-amz-target"]).split(".");
    const input = JSON.parse(await text(incoming));
    const { TableName, StreamArn, ShardId, ShardIterator } = input;
    const [, ofStream = ""] = /:table\/([^/]+)/.exec(StreamArn ?? ShardIterator ?? "") ?? [];
    const shard: string | undefined = ShardId ?? ShardIterator?.split("|")[2];
    const request = { operation, table: TableName ?? ofStream, shard };
    requests.push(request);
    const failure = failing(request);
    if (failure === "SILENT") return;
    if (failure === "RESET") {
      incoming.socket.destroy();
      return;
    }
    try {
      if (failure) throw new Refusal(failure.type, "as the test wants it", failure.status);
      respond(response, 200, await answer(request, input as never));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      respond(response, error.status, { __type: error.type, message: error.message });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    table,
    fail(isMeant, failure) {
      failing = (request) => (isMeant?.(request) ? failure : undefined);
    },
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

function respond(response: ServerResponse, status: number, body: object): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    "content-type": "application/x-amz-json-1.0",
    "content-length": bytes.length,
  });
  response.end(bytes);
}
