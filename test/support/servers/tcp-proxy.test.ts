/** Tests what the proxy does with old and new connections while it hangs and when it is cut. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy.ts";

let echo: Server;
/** How many connections the target has had. */
let accepted = 0;
beforeAll(async () => {
  echo = createServer((socket) => {
    accepted++;
    socket.on("error", () => {});
    socket.pipe(socket);
  });
  echo.listen(0, "127.0.0.1");
  await once(echo, "listening");
});
afterAll(() => echo.close());

let proxy: TcpProxy;
const clients: Socket[] = [];
beforeEach(async () => {
  accepted = 0;
  proxy = await startTcpProxy((echo.address() as AddressInfo).port);
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await proxy.stop();
});

/** Connects to the proxy, and sends a text. `heard` is what came back so far. */
async function send(said: string) {
  const socket = connect(proxy.port, "127.0.0.1");
  clients.push(socket);
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  let heard = "";
  socket.on("data", (data) => {
    heard += data;
  });
  await once(socket, "connect");
  socket.write(said);
  return { socket, closed, heard: () => heard, answered: () => once(socket, "data") };
}

test("a new connection waits while the proxy hangs, and passes afterwards", async () => {
  const old = await send("old");
  await old.answered();
  proxy.hang();
  const { answered, heard } = await send("new");
  old.socket.write("more");
  // What is passed on at once would have come back as this does, which goes past the proxy.
  const direct = connect((echo.address() as AddressInfo).port, "127.0.0.1");
  clients.push(direct);
  direct.write("direct");
  await once(direct, "data");
  expect([accepted, old.heard(), heard()]).toEqual([2, "old", ""]);
  proxy.restore();
  await answered();
  expect([old.heard(), heard()]).toEqual(["old", "new"]);
});

test("a cut closes what waits, and what comes later", async () => {
  proxy.hang();
  const waits = await send("waits");
  proxy.cut();
  await waits.closed;
  await (await send("late")).closed;
  expect(accepted).toBe(0);
  proxy.restore();
  const { answered, heard } = await send("new");
  await answered();
  expect([accepted, heard()]).toEqual([1, "new"]);
});
