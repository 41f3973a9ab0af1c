/** A whole fuzz test: a server in a child process, abused twice, whose memory must not grow. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:http2";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import fc from "fast-check";
import { expect } from "vitest";
import { PointsService } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { inBatches } from "../../../src/platform/ports/pages.ts";
import { methodsWithoutClock } from "../fixtures/descriptors.ts";
import { codeOf, protocols, type Target } from "./calls.ts";
import { abuse } from "./connections.ts";
import { type FuzzRequest, requestsOf } from "./messages.ts";

/** How far the heap may grow from one half to the next: what V8 compiles and pools grow by. */
const maxGrowth = 8 * 2 ** 20;

/** How long the server may take to start, to report its heap, and to stop. */
const patienceMs = 120_000;

/** Codes that say that the server has failed. */
const failures = new Set(["internal", "unknown", "13", "2", "HTTP 500", "reset 2"]);

interface FuzzOptions {
  /** Messages of each half, each sent in one of the protocols. */
  readonly messages: number;
  /** Connections of each half. */
  readonly connections: number;
  readonly seed: number;
}

/** Abuses a server in two equal halves, after fewer messages that warm it up. */
export async function fuzz(options: FuzzOptions): Promise<void> {
  const child = fork(`${import.meta.dirname}/../servers/fuzz-server.ts`, {
    execArgv: ["--expose-gc"],
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => output.push(text));
  }
  const exited = once(child, "exit");
  try {
    const ports = await messageOf<{ port: number; http1Port: number }>(child);
    await abuseAll(ports, { ...options, messages: options.messages / 4 });
    const heaps: number[] = [];
    for (let half = 0; half < 2; half++) {
      await abuseAll(ports, { ...options, seed: options.seed + 1 + half });
      heaps.push(await heapOf(child));
    }
    const [first = 0, second = 0] = heaps;
    console.info(`heap after each half: ${heaps.map((heap) => (heap / 2 ** 20).toFixed(1))} MiB`);
    expect(second - first).toBeLessThan(maxGrowth);
    await expectGoodCall(ports.http1Port);
    expect(child.exitCode).toBeNull();
    // Errors of the log, and what Connect writes to stderr when it cannot answer.
    expect(output.filter((text) => text.includes('"level":50'))).toEqual([]);
  } catch (error) {
    // Whatever failed, what the server has written tells why.
    throw new Error(`${error}\n${output.join("")}`, { cause: error });
  } finally {
    if (child.connected) child.disconnect();
    const killing = setTimeout(() => child.kill("SIGKILL"), patienceMs);
    await exited;
    clearTimeout(killing);
  }
}

async function abuseAll(
  { port, http1Port }: { readonly port: number; readonly http1Port: number },
  { messages, connections, seed }: FuzzOptions,
): Promise<void> {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on("error", () => undefined);
  const target: Target = { session, http1: `http://127.0.0.1:${http1Port}` };
  const requests = fc.sample(requestsOf(methodsWithoutClock), { seed, numRuns: messages });
  try {
    for (const batch of inBatches(requests, 40)) {
      await Promise.all(batch.map((request) => expectAnswer(target, request)));
    }
  } finally {
    session.destroy();
  }
  for (let i = 0; i < connections; i += 50) {
    const some = Array.from({ length: Math.min(50, connections - i) }, (_, k) => i + k);
    await Promise.all(some.map((n) => abuse(n % 2 ? port : http1Port, n % 2 === 1, n >> 1)));
  }
}

async function expectAnswer(target: Target, request: FuzzRequest): Promise<void> {
  const protocol = protocols[request.choice % protocols.length] ?? "gRPC";
  const { method, damage, choice } = request;
  const what = `${protocol} ${method.name} ${damage} ${choice}`;
  const code = await codeOf(target, protocol, request).catch((error) => {
    // A request that is too large is answered before its end, and its connection closed.
    if (/ECONNRESET|EPIPE|UND_ERR_SOCKET/.test(error.cause?.code)) return "closed";
    throw new Error(`${what}: ${error} ${error.cause}`);
  });
  if (failures.has(code)) throw new Error(`${what}: ${code}`);
}

async function heapOf(child: ChildProcess): Promise<number> {
  child.send("heap");
  return (await messageOf<{ heap: number }>(child)).heap;
}

/** The next message of a child. A child that is stuck or dead fails the test. */
async function messageOf<Message>(child: ChildProcess): Promise<Message> {
  const signal = AbortSignal.timeout(patienceMs);
  const died = once(child, "exit", { signal }).then(([code, signalName]) => {
    throw new Error(`the server has ended with ${code ?? signalName}`);
  });
  const [message] = await Promise.race([once(child, "message", { signal }), died]);
  return message;
}

async function expectGoodCall(http1Port: number): Promise<void> {
  const transport = createConnectTransport({
    baseUrl: `http://127.0.0.1:${http1Port}`,
    httpVersion: "1.1",
  });
  const headers = { "meguri-caller": "tests" };
  const client = createClient(PointsService, transport);
  const { entry } = await client.grantPoints(
    { userId: "good", eventId: "e", points: 1n },
    { headers },
  );
  expect(entry?.caller?.service).toBe("tests");
}
