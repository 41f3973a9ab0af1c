/** Tests that no process sends a write long after its decision, even one that was stopped. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { createClients } from "../../../../src/platform/dynamodb/sdk/client.ts";
import { tableName } from "../../../../src/platform/dynamodb/tables.ts";
import { CommitEngine } from "../../../../src/platform/engine/engine.ts";
import { programRef } from "../../../../src/points/ports/records.ts";
import { createDynamoItemStore } from "../../../../src/store/item-store.ts";

/** A store without items that takes every write, and the operations that it has received. */
async function openStore(transport: "thin" | "sdk") {
  const received: string[] = [];
  const server = createServer((req, res) => {
    received.push(String(req.headers["x-amz-target"]).replace("DynamoDB_20120810.", ""));
    req.resume().on("end", () => res.end("{}"));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const clients = createClients({
    endpoint: `http://127.0.0.1:${port}`,
    ...{ region: "local", transport },
  });
  onTestFinished(() => {
    clients.close();
    server.close();
  });
  return { store: createDynamoItemStore(clients.single, tableName("t-")), received };
}

const program = { programId: "p", timeZone: "UTC", lifetimes: [], createTime: 0 };
const now = { calendar: 0, wall: 0 };

/** Has an engine decide a write. `stop` is called when the time of the decision is read. */
async function write(transport: "thin" | "sdk", stop: () => void) {
  const { store, received } = await openStore(transport);
  const clock = {
    async now() {
      stop();
      return now;
    },
  };
  const ref = programRef("p");
  const answer = new CommitEngine({ store, clock }).transact({
    key: ref,
    readSet: [ref],
    expectAbsent: [],
    call: undefined,
    decide: (tx) => tx.put(ref, program),
  });
  const result = await answer.then(
    () => "committed",
    ({ reason }) => reason,
  );
  return { result, received };
}

test.each(["thin", "sdk"] as const)(
  "over the transport %s, a late write is not sent",
  async (t) => {
    const inTime = await write(t, () => undefined);
    expect(inTime).toEqual({ result: "committed", received: ["GetItem", "TransactWriteItems"] });

    const stopped = await write(t, () => {
      const { now } = performance;
      vi.spyOn(performance, "now").mockImplementation(() => now.call(performance) + 6_000);
      onTestFinished(() => void vi.restoreAllMocks());
    });
    expect(stopped).toEqual({ result: "STORE_UNAVAILABLE", received: ["GetItem"] });
  },
);
