/** Tests which failures of real connections are outages of the store, and which are our errors. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  type Clients,
  createClients,
  orUnavailable,
} from "../../../../src/platform/dynamodb/sdk/client.ts";
import { isTransient } from "../../../../src/platform/dynamodb/sdk/failures.ts";
import { tableName } from "../../../../src/platform/dynamodb/tables.ts";
import { programRef } from "../../../../src/points/ports/records.ts";
import { createDynamoItemStore } from "../../../../src/store/item-store.ts";

type Answer = (socket: Socket) => void;

const status =
  (line: string, body = ""): Answer =>
  (socket) =>
    socket.end(
      `HTTP/1.1 ${line}\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );

const refused = (name: string): Answer =>
  status("400 Bad Request", JSON.stringify({ __type: `com.amazonaws.dynamodb#${name}` }));

const cut = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"Item":';

/** Answers to a request that failed on the way or in the store. */
const outages: Record<string, Answer> = {
  "breaks off": (socket) => socket.end(),
  resets: (socket) => socket.resetAndDestroy(),
  hangs: () => undefined,
  "hangs within the body": (socket) => void socket.write(cut),
  "breaks off within the body": (socket) => socket.end(cut),
  "sends what is not HTTP": (socket) => socket.end("SSH-2.0-OpenSSH\r\n\r\n"),
  "sends a broken header": (socket) => socket.end("HTTP/1.1 200 OK\r\nno colon\r\n\r\n"),
  "sends what is not JSON": status("200 OK", "<html>"),
  "sends half of the JSON": status("200 OK", '{"Item":'),
  "500": status("500 Internal Server Error"),
  "500 of DynamoDB": status("500 Internal Server Error", '{"__type":"InternalServerError"}'),
  "501": status("501 Not Implemented"),
  "502 of a proxy": status("502 Bad Gateway", "<html>"),
  "503": status("503 Service Unavailable"),
  "429": status("429 Too Many Requests"),
  throttles: refused("ThrottlingException"),
  "throttles a table": refused("ProvisionedThroughputExceededException"),
};

/** Answers to a wrong request, which must not be sent again. */
const mistakes: Record<string, Answer> = {
  "invalid request": refused("ValidationException"),
  "request that cannot be parsed": refused("SerializationException"),
};

/** Answers that any other request would get as well, until an operator has acted. */
const refusals = [
  "ExpiredTokenException",
  "UnrecognizedClientException",
  "InvalidSignatureException",
  "MissingAuthenticationTokenException",
  "AccessDeniedException",
  "KMSDisabledException",
  "KMSInvalidStateException",
  "ResourceNotFoundException",
];

const transports = ["thin", "sdk"] as const;
type Transport = (typeof transports)[number];

/** Runs `use` with clients of a server that answers every request in one way. */
async function against<T>(
  transport: Transport,
  answer: Answer,
  use: (clients: Clients) => Promise<T>,
): Promise<T> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("data", () => answer(socket));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const clients = createClients({
    endpoint: `http://127.0.0.1:${port}`,
    region: "local",
    transport,
  });
  try {
    return await use(clients);
  } finally {
    clients.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

const read = ({ single }: Clients, TableName = "t"): Promise<unknown> =>
  orUnavailable(
    single.send(new GetItemCommand({ TableName, Key: { pk: { S: "P" }, sk: { S: "p" } } })),
  );

function commit(clients: Clients) {
  const ref = programRef("p");
  const write = { ref, op: "check", version: 1, value: undefined, next: 1 } as const;
  return createDynamoItemStore(clients.single, tableName("t-")).commit([write], "token");
}

describe.concurrent("all outages at once, over the transport", () => {
  const cases = Object.entries(outages).flatMap(([name, answer]) =>
    transports.map((transport) => [transport, name, answer] as const),
  );

  test.each(cases)("%s: a store that %s", async (transport, name, answer) => {
    const isThrottled = name.startsWith("throttles");
    const reason = isThrottled ? "THROTTLED" : "STORE_UNAVAILABLE";
    const kind = isThrottled ? "throttled" : "unknown";
    await Promise.all([
      expect(against(transport, answer, read)).rejects.toMatchObject({ reason }),
      expect(against(transport, answer, commit)).resolves.toEqual({ kind }),
    ]);
  });
});

describe.each(transports)("the transport %s", (transport) => {
  test.each(Object.entries(mistakes))("a store that says: %s", async (_, answer) => {
    for (const use of [read, commit]) {
      const error: unknown = await against(transport, answer, use).catch((reason) => reason);
      expect(String(error)).toMatch(/^\w+Exception: /);
      expect(error).not.toHaveProperty("reason");
    }
  });

  test.each(refusals)("a store that refuses with %s", async (code) => {
    const metadata = { code, table: "points" };
    await against(transport, refused(code), async (clients) => {
      await expect(read(clients, "t-points")).rejects.toMatchObject({
        reason: "STORE_REFUSES",
        message: `the store refuses GetItem on points: ${code}`,
        metadata: { ...metadata, operation: "GetItem" },
      });
      await expect(commit(clients)).rejects.toMatchObject({
        reason: "STORE_REFUSES",
        metadata: { ...metadata, operation: "TransactWriteItems" },
      });
      const { values } = await clients.tallies.refusals.get();
      expect(values.map(({ labels, value }) => [labels, value])).toEqual([
        [{ operation: "GetItem", table: "t-points", code }, 1],
        [{ operation: "TransactWriteItems", table: "t-points", code }, 1],
      ]);
    });
  });

  test("a refusal lasts until the same request is served, for a minute at most", async () => {
    let isRefused = true;
    const answer: Answer = (socket) =>
      (isRefused ? refused("AccessDeniedException") : status("200 OK", "{}"))(socket);
    await against(transport, answer, async (clients) => {
      const [first, second] = ["t-accounts", "t-points"] as const;
      for (const table of [first, second]) {
        await expect(read(clients, table)).rejects.toMatchObject({ reason: "STORE_REFUSES" });
      }
      const refusal = { code: "AccessDeniedException", operation: "GetItem", text: "UnknownError" };
      const ofPoints = { ...refusal, table: "points", resource: second };
      const ofAccounts = { ...refusal, table: "accounts", resource: first };
      expect(clients.refusals()).toEqual([ofAccounts, ofPoints]);
      isRefused = false;
      await read(clients, first);
      expect(clients.refusals()).toEqual([ofPoints]);
      const later = performance.now() + 61_000;
      const clock = vi.spyOn(performance, "now").mockImplementation(() => later);
      onTestFinished(() => clock.mockRestore());
      expect(clients.refusals()).toEqual([]);
    });
  });

  test("a process without credentials sends nothing, and counts that as refused", async () => {
    await against(transport, status("200 OK", "{}"), async (clients) => {
      const name = "CredentialsProviderError";
      const fail = () => () => {
        throw Object.assign(new Error("Could not load credentials"), { name });
      };
      clients.single.middlewareStack.add(fail, { step: "finalizeRequest", priority: "high" });
      await expect(read(clients)).rejects.toMatchObject({
        reason: "STORE_REFUSES",
        metadata: { code: name },
      });
      const { values } = await clients.tallies.requests.get();
      const labels = { operation: "GetItem", table: "t", result: "refused" };
      expect(values).toEqual([{ labels, value: 1 }]);
    });
  });

  test("a store that is not there", async () => {
    const clients = createClients({ endpoint: "http://127.0.0.1:1", region: "local", transport });
    await expect(read(clients)).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
    clients.close();
  });

  test("the time without an answer grows while attempts are lost, until an answer", async () => {
    let isAway = true;
    const answer: Answer = (socket) =>
      isAway ? socket.resetAndDestroy() : status("200 OK", "{}")(socket);
    await against(transport, answer, async (clients) => {
      let now = Math.ceil(performance.now());
      const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
      onTestFinished(() => clock.mockRestore());
      const lose = () =>
        expect(read(clients)).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
      await lose();
      expect(clients.unansweredMs()).toBe(0);
      now += 9_000;
      await lose();
      now += 9_000;
      expect(clients.unansweredMs()).toBe(18_000);
      // Nobody has asked the store for a while.
      now += 1_001;
      expect(clients.unansweredMs()).toBe(0);
      await lose();
      expect(clients.unansweredMs()).toBe(19_001);
      // Attempts with a longer pause in between tell nothing of the time between them.
      now += 61_000;
      await lose();
      now += 1_000;
      expect(clients.unansweredMs()).toBe(1_000);
      expect(clients.silenceMs()).toBe(0);
      isAway = false;
      await read(clients);
      expect(clients.unansweredMs()).toBe(0);
    });
  });

  test("the silence goes on over attempts that are lost one after another", async () => {
    const waiting: Socket[] = [];
    let answer: Answer = (socket) => socket.resetAndDestroy();
    await against(
      transport,
      (socket) => answer(socket),
      async (clients) => {
        let now = Math.ceil(performance.now());
        const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
        onTestFinished(() => clock.mockRestore());
        async function loseAfter(ms: number): Promise<void> {
          now += ms;
          answer = (socket) => socket.resetAndDestroy();
          await expect(read(clients)).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
        }
        async function waitAfter(ms: number): Promise<{ readonly answered: Promise<unknown> }> {
          now += ms;
          answer = (socket) => void waiting.push(socket);
          const answered = read(clients);
          await vi.waitFor(() => expect(waiting).toHaveLength(1));
          return { answered };
        }
        await loseAfter(0);
        await loseAfter(2_000);
        const { answered } = await waitAfter(2_000);
        expect(clients.silenceMs()).toBe(4_000);
        status("200 OK", "{}")(waiting.pop() as Socket);
        await answered;
        expect(clients.silenceMs()).toBe(0);
        // An answer ends the outage, and so does a pause in which nobody asks.
        await loseAfter(1_000);
        const second = await waitAfter(500);
        expect(clients.silenceMs()).toBe(500);
        waiting.pop()?.resetAndDestroy();
        await expect(second.answered).rejects.toThrow();
        const third = await waitAfter(11_000);
        expect(clients.silenceMs()).toBe(0);
        status("200 OK", "{}")(waiting.pop() as Socket);
        await third.answered;
      },
    );
  });

  test("an error of the program while a request is being sent", async () => {
    const broken = (clients: Clients) => {
      const fail = () => () => {
        throw Buffer.from(5 as never);
      };
      clients.single.middlewareStack.add(fail, { step: "finalizeRequest" });
      return read(clients);
    };
    await expect(against(transport, status("200 OK", "{}"), broken)).rejects.toMatchObject({
      name: "TypeError",
      code: "ERR_INVALID_ARG_TYPE",
    });
  });
});

test.each([
  ["a connection that the store closed", { code: "ECONNABORTED" }, true],
  ["a machine out of ports", { code: "EADDRNOTAVAIL" }, true],
  ["a name server that does not answer", { code: "EAI_AGAIN" }, true],
  ["a broken handshake", { code: "ERR_SSL_WRONG_VERSION_NUMBER" }, true],
  ["a file that is not there", { code: "ENOENT" }, false],
  ["a wrong argument", { code: "ERR_INVALID_ARG_VALUE" }, false],
  ["JSON of ours that is broken", { name: "SyntaxError" }, false],
  ["a call that was aborted", { name: "AbortError" }, false],
])("%s", (_, more, expected) => {
  expect(isTransient(Object.assign(new Error("x"), more))).toBe(expected);
});

test("a thrown value that is not an error", () => {
  expect(isTransient("ECONNRESET")).toBe(false);
});
