/**
 * A server in the test's process and two events processes as production starts them, on tables of
 * their own, with a consumer that reads, a command that prints and a receiver of webhooks. Each has
 * a copy of everything.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installationRef } from "../../../src/platform/ports/records.ts";
import { changeRecord } from "../../../src/platform/work/change-record.ts";
import { type Observer, type Process, startProcess } from "../../../tools/chaos/processes.ts";
import { startDynamoDbLocal } from "../../../tools/dev/stack/dynamodb-local.ts";
import { findPorts } from "../../../tools/dev/stack/free-port.ts";
import { startService } from "../../../tools/dev/stack/service.ts";
import { type DynamoProxy, startDynamoProxy } from "../../../tools/dynamo-proxy/proxy.ts";
import { deniedIn, guardedBy } from "../deploy/guarded.ts";
import { randomFrom } from "../models/random.ts";
import { startServer, type TestServer } from "../servers/server.ts";
import { itemsOf } from "../stores/dump.ts";
import { consume } from "./consumer.ts";
import { EventCopy } from "./copy.ts";
import { type Receiver, startReceiver } from "./receiver.ts";
import { readTables, type Tables } from "./tables.ts";
import { startTail, type Tail } from "./tail.ts";

export interface EventsProcess extends Process {
  /** Between this process and the store. */
  readonly proxy: DynamoProxy;
  /** Whether it writes the log, by its own metrics; false while it does not answer. */
  isWriting(): Promise<boolean>;
}

export interface EventsStack {
  readonly server: TestServer;
  readonly processes: readonly EventsProcess[];
  readonly receiver: Receiver;
  /** What the consumer has read, the command has printed, and the receiver has got. */
  readonly copies: Readonly<Record<"read" | "printed" | "pushed", EventCopy>>;
  /** What should not have happened so far. */
  readonly surprises: ReadonlySet<string>;
  /** Starts the events processes and those who read. */
  begin(): Promise<void>;
  /** Kills the command, and starts it again. */
  killTail(): Promise<void>;
  /** Gives the copy of the command what it has printed. */
  readTail(): void;
  readTables(): Promise<Tables>;
  /** Ends all that `begin` has started. Returns what should not have happened. */
  end(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

/** The consumer crashes at every tenth page. */
const crashShare = 0.1;

/**
 * Starts the server, on a DynamoDB Local of its own: there a read of any stream takes as long as
 * there are changes in all streams. `pushed` says what the copy of the receiver may expect of gaps.
 */
export async function startEventsStack(
  seed: number,
  pushed: ConstructorParameters<typeof EventCopy>[0] = {},
): Promise<EventsStack> {
  const folder = await mkdtemp(join(tmpdir(), "meguri-events-"));
  const dynamoDbLocal = await startDynamoDbLocal();
  const { endpoint } = dynamoDbLocal;
  const tablesOn = { dynamoEndpoint: endpoint, dynamoDbLocal: endpoint };
  const server = await startServer({ ...tablesOn, testClock: false });
  await changeRecord(server.deps, { ref: installationRef }, (found) => found ?? newInstallation());
  const surprises = new Set<string>();
  const copies = { read: new EventCopy(), printed: new EventCopy(), pushed: new EventCopy(pushed) };
  const secret = `whsec_${randomBytes(24).toString("base64")}`;
  const receiver = await startReceiver({
    ...{ copy: copies.pushed, secret, random: randomFrom(seed + 1) },
    onWrong: (what) => void surprises.add(what),
  });
  const subscriptions = await writeSubscription(folder, receiver.url, secret);
  const denied = join(folder, "denied");
  const over = new AbortController();
  const processes: EventsProcess[] = [];
  const observer: Observer = {
    onEnd: (what) => void surprises.add(what),
    onRetry: () => {},
    onLost: (error) => void surprises.add(error.message),
  };
  let consuming: Promise<unknown> | undefined;
  let tail: Tail | undefined;

  async function startOne(name: string): Promise<EventsProcess> {
    const [port] = await findPorts(0);
    const proxy = await startDynamoProxy({ upstream: endpoint });
    const env = {
      MEGURI_DYNAMODB_ENDPOINT: proxy.endpoint,
      MEGURI_TABLE_PREFIX: server.config.tablePrefix,
      MEGURI_EVENTS_PORT: `${port}`,
      MEGURI_EVENT_SUBSCRIPTIONS: subscriptions,
      MEGURI_LOG_LEVEL: "error",
      ...guardedBy(denied),
    };
    const start = () => startService({ name, entry: "src/events.ts", env });
    const started = await startProcess(name, start, observer);
    return { ...started, proxy, isWriting: () => isWriting(`http://127.0.0.1:${port}/metrics`) };
  }

  async function end(): Promise<readonly string[]> {
    over.abort();
    await consuming;
    await tail?.process.stop();
    await Promise.all(processes.map(({ stop }) => stop()));
    for (const access of deniedIn(denied)) surprises.add(`deploy/policies refuse ${access}`);
    return [...surprises];
  }

  return {
    ...{ server, processes, receiver, copies, surprises, end },
    async begin() {
      processes.push(...(await Promise.all(["events 1", "events 2"].map(startOne))));
      consuming = consume({
        read: (request, options) => server.events.readEvents(request, options),
        ...{ copy: copies.read, cursorFile: join(folder, "cursor"), random: randomFrom(seed) },
        ...{ crashShare, over: over.signal },
      }).catch((error: unknown) => surprises.add(`the consumer got ${error}`));
      tail = await startTail(folder, `http://127.0.0.1:${server.port}`, copies.printed, observer);
    },
    async killTail() {
      const startAgain = await tail?.process.faults.killed?.();
      await startAgain?.();
    },
    readTail: () => tail?.read(),
    readTables: () => readTables((table) => itemsOf(server.dynamo, server.table(table))),
    async stop() {
      await end();
      await Promise.all(processes.map(({ proxy }) => proxy.stop()));
      await receiver.stop();
      await server.stop();
      await dynamoDbLocal.stop();
      await rm(folder, { recursive: true });
    },
  };
}

const newInstallation = () => ({ id: randomUUID() });

/** The file of a subscription to everything. */
async function writeSubscription(folder: string, url: string, secret: string): Promise<string> {
  const secretFile = join(folder, "secret");
  await writeFile(secretFile, secret);
  const subscription = {
    ...{ name: "copy", type: "http", types: "all", programs: "all", start: "oldest" },
    include: ["reason", "display_name", "text"],
    ...{ url, secret_files: [secretFile], allow_private: true },
  };
  const file = join(folder, "subscriptions.json");
  await writeFile(file, JSON.stringify({ subscriptions: [subscription] }));
  return file;
}

async function isWriting(url: string): Promise<boolean> {
  const page = await fetch(url)
    .then((response) => response.text())
    .catch(() => "");
  return /^meguri_events_writing\S* 1$/m.test(page);
}
