/** Runs the code of docs/call/retrying.md while the store fails: it has to grant exactly once. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { type DynamoProxy, startDynamoProxy } from "../../tools/dynamo-proxy/proxy.ts";
import { codeNamed, onPorts, projectRoot } from "../support/markdown.ts";
import { startServer, type TestServer } from "../support/servers/server.ts";

const printedUser = "bao";

/** A server that reaches the store directly. It creates the tables, and the tests read with it. */
let direct: TestServer;
let proxy: DynamoProxy;
/** The server that the code calls: it reaches the store through the fault proxy. */
let server: TestServer;
beforeAll(async () => {
  direct = await startServer({ testClock: false, dynamoEndpoint: inject("dynamodbEndpoint") });
  const { dynamoEndpoint: upstream = "", tablePrefix } = direct.config;
  proxy = await startDynamoProxy({ upstream });
  server = await startServer({ testClock: false, tablePrefix, dynamoEndpoint: proxy.endpoint });
});
afterAll(async () => {
  await server?.stop();
  await proxy?.stop();
  await direct?.stop();
});

interface Outcome {
  readonly status: number | null;
  readonly output: string;
  readonly tries: string[];
}

/** Runs the code for another user; calls `onFailure` whenever a try has failed. */
async function submitFor(
  userId: string,
  onFailure: () => void = () => {},
  port = server.port,
): Promise<Outcome> {
  const code = codeNamed("docs/call/retrying.md", "submit");
  expect(code).toContain(`"${printedUser}"`);
  const file = `${projectRoot}.retrying-${process.pid}-${userId}.ts`;
  await writeFile(
    file,
    onPorts(code, { port, http1Port: server.http1Port }).replace(printedUser, userId),
  );
  try {
    const child = spawn("node", [file], { cwd: projectRoot, stdio: "pipe" });
    let output = "";
    let errors = "";
    child.stdout.on("data", (data: Buffer) => {
      output += data;
    });
    child.stderr.on("data", (data: Buffer) => {
      errors += data;
      if (errors.includes("try ")) onFailure();
    });
    const [status] = (await once(child, "close")) as [number | null];
    const tries = errors.split("\n").filter((line) => line.startsWith("try "));
    return { status, output: output.trim(), tries };
  } finally {
    await rm(file);
  }
}

/**
 * A TCP proxy between a client and a server. It drops the answers of the first connection and
 * breaks it when `isDone` resolves. Later connections are forwarded unchanged.
 */
async function startBreakingProxy(port: number, isDone: () => PromiseLike<unknown>) {
  let first = true;
  const listener = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    for (const socket of [client, upstream]) socket.on("error", () => {});
    client.pipe(upstream);
    client.once("close", () => upstream.destroy());
    upstream.once("close", () => client.destroy());
    if (!first) {
      upstream.pipe(client);
      return;
    }
    first = false;
    upstream.resume();
    const breakOff = () => client.destroy();
    isDone().then(breakOff, breakOff);
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  return { port: (listener.address() as AddressInfo).port, close: () => listener.close() };
}

/** The event ids and balances of an account's entries, read without faults. */
async function ledgerOf(userId: string) {
  const { entries } = await direct.points.listLedgerEntries({ userId });
  return entries.map(({ event, availablePoints: balance }) => `${event?.eventId} ${balance}`);
}

test("a grant with an ambiguous result is found by the retry, and made once", async () => {
  proxy.faults({ lostAnswer: 1, lostBy: "silence", operations: ["TransactWriteItems"] });
  // A try may fail before its transaction is sent: the machine is busy.
  const { status, output, tries } = await submitFor("lost", () => {
    if (proxy.stats().faults.lostAnswer > 0) proxy.faults({});
  });
  expect([status, output], tries.join("\n")).toEqual([0, "120 points, replayed: true"]);
  expect(tries[0]).toMatch(/the store gave no answer|deadline_exceeded/);
  expect(await ledgerOf("lost")).toEqual(["order-2001 120"]);
});

test("a grant that the store did not take is made by the retry, once", async () => {
  proxy.down(true);
  const { status, output, tries } = await submitFor("away", () => proxy.down(false));
  expect(status, tries.join("\n")).toBe(0);
  // On a busy machine the server may commit after the first try has ended.
  expect(output).toMatch(/^120 points, replayed: (true|false)$/);
  expect(tries[0]).toMatch(/unavailable|deadline_exceeded/);
  expect(await ledgerOf("away")).toEqual(["order-2001 120"]);
});

test("a grant whose connection broke is found by the retry, and made once", async () => {
  const breaking = await startBreakingProxy(server.port, () =>
    expect.poll(() => ledgerOf("broken")).toHaveLength(1),
  );
  try {
    const { status, output, tries } = await submitFor("broken", undefined, breaking.port);
    expect([status, output], tries.join("\n")).toEqual([0, "120 points, replayed: true"]);
    expect(tries[0]).toMatch(/canceled|aborted|deadline_exceeded/);
    expect(await ledgerOf("broken")).toEqual(["order-2001 120"]);
  } finally {
    breaking.close();
  }
});

test("a refusal is not sent again", async () => {
  await direct.points.freezeAccount({ userId: "frozen", eventId: "freeze" });
  const { status, tries } = await submitFor("frozen");
  expect(status).not.toBe(0);
  expect(tries.filter((line) => line.includes("failed_precondition"))).toHaveLength(1);
  expect(tries.at(-1)).toContain("failed_precondition");
  expect(await ledgerOf("frozen")).toEqual(["freeze 0"]);
});
