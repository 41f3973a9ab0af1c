/** Starts a real server in the test's process: real gRPC, real store, its own tables. */
import { randomUUID } from "node:crypto";
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { DescService } from "@bufbuild/protobuf";
import {
  type Client,
  createClient,
  createRouterTransport,
  type Interceptor,
  type Transport,
} from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { inject } from "vitest";
import { createBulkGrantStreams } from "../../../src/bulk-grants/runtime/bulk-grants.ts";
import { progressOf } from "../../../src/bulk-grants/use-cases/queries.ts";
import { composeAccess } from "../../../src/compose.ts";
import { createUnreadCountStreams } from "../../../src/feed/runtime/unread-counts.ts";
import { Health } from "../../../src/gen/grpc/health/v1/health_pb.ts";
import { ActService } from "../../../src/gen/meguri/acts/v1/act_service_pb.ts";
import { BulkGrantService } from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { EventService } from "../../../src/gen/meguri/events/v1/event_service_pb.ts";
import { HoldService } from "../../../src/gen/meguri/holds/v1/hold_service_pb.ts";
import * as notifications from "../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { PointsService } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { ProgramService } from "../../../src/gen/meguri/programs/v1/program_service_pb.ts";
import { ReactionService } from "../../../src/gen/meguri/reactions/v1/reaction_service_pb.ts";
import { ReservationService } from "../../../src/gen/meguri/reservations/v1/reservation_service_pb.ts";
import { ClockService } from "../../../src/gen/meguri/testing/v1/clock_service_pb.ts";
import type { WorkerDeps, Workflows } from "../../../src/hub/deps.ts";
import { setupProgram, setupTables } from "../../../src/ops/setup.ts";
import { type Config, readConfig } from "../../../src/platform/config/config.ts";
import { createClients } from "../../../src/platform/dynamodb/sdk/client.ts";
import { tableName } from "../../../src/platform/dynamodb/tables.ts";
import { createCalls } from "../../../src/platform/edge/calls.ts";
import { CommitEngine } from "../../../src/platform/engine/engine.ts";
import { createLogger, type Logger } from "../../../src/platform/observe/log.ts";
import type { Authenticate } from "../../../src/platform/ports/identity.ts";
import { createTestClock } from "../../../src/platform/work/clocks.ts";
import { createServerStates } from "../../../src/platform/work/server-states.ts";
import { routes } from "../../../src/routes.ts";
import { createServer, type Server } from "../../../src/server.ts";
import { composeAs } from "../deploy/compose-as.ts";
import { runAs } from "../deploy/run-as.ts";
import { patientDeps } from "../fixtures/waiting.ts";
import { deleteTables } from "../stores/delete-tables.ts";
import {
  createMemoryTables,
  findMemoryTables,
  type MemoryTables,
} from "../stores/memory-clients.ts";
import { type MemoryStore, memoryDeps } from "../stores/memory-store.ts";
import { eventPorts } from "./event-ports.ts";
import { type RecordingWorkflows, recordWorkflows } from "./recording-workflows.ts";

interface TestServerOptions {
  /** Serves the ClockService; time is then what a test has set. On by default. */
  readonly testClock?: boolean;
  /** The workflows port of the server; by default one that only records its calls. */
  readonly workflows?: Workflows;
  /**
   * The tables are in the memory of this process unless this is the endpoint of a DynamoDB: the
   * run's own (`inject("dynamodbEndpoint")`), or a proxy in front of it.
   */
  readonly dynamoEndpoint?: string;
  /** The DynamoDB Local behind `dynamoEndpoint`, if it is not the run's own. */
  readonly dynamoDbLocal?: string;
  /** The tables of another server, which must still run. By default it has its own. */
  readonly tablePrefix?: string;
  /** Variables of the environment for `readConfig`, in addition or instead. */
  readonly env?: Readonly<Record<string, string>>;
  /** Who calls; by default the service that the header names. */
  readonly authenticate?: Authenticate;
  /** How long an upload may wait for the next message of its client. */
  readonly uploadIdleMs?: number;
}

/** A client of every service. */
export interface Clients {
  readonly programs: Client<typeof ProgramService>;
  readonly points: Client<typeof PointsService>;
  readonly reservations: Client<typeof ReservationService>;
  readonly holds: Client<typeof HoldService>;
  readonly reactions: Client<typeof ReactionService>;
  readonly notifications: Client<typeof notifications.NotificationService>;
  readonly bulkGrants: Client<typeof BulkGrantService>;
  readonly acts: Client<typeof ActService>;
  readonly events: Client<typeof EventService>;
  readonly clock: Client<typeof ClockService>;
  readonly health: Client<typeof Health>;
}

export interface TestServer extends Clients {
  readonly config: Config;
  /** The dependencies of the server, whose calls are made again while the machine is busy. */
  readonly deps: WorkerDeps;
  readonly server: Server;
  /** The port of gRPC on which the server listens. */
  readonly port: number;
  readonly http1Port: number;
  readonly operatorsPort: number;
  /** The calls of the default workflows port. */
  readonly workflows: RecordingWorkflows;
  /** Reads and tampers with the tables. */
  readonly dynamo: DynamoDBClient;
  /** The full name of a table. */
  readonly table: ReturnType<typeof tableName>;
  /** Clients that call as another service, or without a caller. */
  clientsOf(caller: string | undefined): Clients;
  /** Drains the server and deletes its own tables. */
  stop(): Promise<void>;
}

/** Starts a server on free ports, with the program `default` in tables of its own. */
export async function startServer(options: TestServerOptions = {}): Promise<TestServer> {
  const endpoint = options.dynamoEndpoint ?? inject("dynamodbEndpoint");
  const variables = {
    MEGURI_PORT: "0",
    MEGURI_HTTP1_PORT: "0",
    MEGURI_OPERATORS_PORT: "0",
    MEGURI_DYNAMODB_ENDPOINT: endpoint,
    MEGURI_DYNAMODB_TRANSPORT: inject("dynamoTransport"),
    MEGURI_TABLE_PREFIX: options.tablePrefix ?? `test-${randomUUID()}-`,
    MEGURI_TEST_CLOCK: options.testClock === false ? "0" : "1",
    MEGURI_LOG_LEVEL: "silent",
    MEGURI_DRAIN_SECONDS: "1",
    ...options.env,
  };
  const config = readConfig(variables, "server");
  const ownTables = options.tablePrefix === undefined;
  const log = createLogger("test", config.logLevel);
  const memory = openMemory(options, config.tablePrefix);
  if (ownTables && !memory) {
    await runAs("setup", config.tablePrefix, () => setupTables(config, log));
  }
  const workflows = recordWorkflows();
  const { deps: served, close } = composeAs(
    ["server"],
    config,
    options.workflows ?? workflows,
    log,
    memory?.connect(),
  );
  const deps = patientDeps(served);
  if (ownTables) await setupProgram(deps);
  const { uploadIdleMs } = options;
  const { authenticate, certificates, ...access } = composeAccess(config, log);
  const server = createServer({
    ...{ deps: served, config, log, certificates },
    authenticate: options.authenticate ?? authenticate,
    ...(uploadIdleMs && { uploadIdleMs }),
  });
  const { port, http1Port, operatorsPort } = await server.listen();
  const dynamo =
    memory?.connect() ??
    createClients({
      endpoint: options.dynamoDbLocal ?? inject("dynamodbEndpoint"),
      region: config.region,
    });
  const table = tableName(config.tablePrefix);
  const sessions = new Http2SessionManager(`http://127.0.0.1:${port}`);
  const clientsOf = (caller: string | undefined) => connect(sessions, port, caller);
  return {
    ...clientsOf("tests"),
    config,
    deps,
    server,
    port,
    http1Port,
    operatorsPort,
    workflows,
    dynamo: dynamo.retrying,
    table,
    clientsOf,
    async stop() {
      sessions.abort();
      await server.drain();
      access.close();
      await close();
      if (ownTables) await (memory ? memory.delete() : deleteTables(dynamo.retrying, table));
      dynamo.close();
    },
  };
}

/** The dependencies of a worker on the tables of a server. */
export function composeWorker({ config }: TestServer): ReturnType<typeof composeAs> {
  const clients = findMemoryTables(config.tablePrefix)?.connect();
  return composeAs(["worker"], config, recordWorkflows(), createLogger("test", "silent"), clients);
}

/** The tables in memory of this prefix; undefined if they are in a DynamoDB. */
function openMemory(options: TestServerOptions, prefix: string): MemoryTables | undefined {
  if (options.dynamoEndpoint !== undefined) return undefined;
  return options.tablePrefix === undefined ? createMemoryTables(prefix) : findMemoryTables(prefix);
}

/** A server on a store in memory. */
export interface MemoryServer extends Clients {
  readonly config: Config;
  readonly deps: WorkerDeps;
  readonly store: MemoryStore;
  readonly log: Logger;
  readonly port: number;
  readonly http1Port: number;
  readonly operatorsPort: number;
  /** The calls of its workflows port. */
  readonly workflows: RecordingWorkflows;
  /** Calls its handlers in this process, without HTTP, which takes a fraction of the CPU time. */
  readonly handlers: Transport;
  /** Clients that call as another service, or without a caller. */
  clientsOf(caller: string | undefined): Clients;
  stop(): Promise<void>;
}

/**
 * Starts a server on a store in memory, with the program `default` and the test clock. It serves
 * calls for a fraction of the CPU time, so tests use it which are not about DynamoDB.
 */
export async function startMemoryServer(
  env: Readonly<Record<string, string>> = {},
  log = createLogger("test", "silent"),
): Promise<MemoryServer> {
  const workflows = recordWorkflows();
  const { store, ...others } = memoryServerDeps(log);
  const deps = { ...others, workflows };
  await setupProgram(deps);
  const free = { MEGURI_PORT: "0", MEGURI_HTTP1_PORT: "0", MEGURI_OPERATORS_PORT: "0" };
  const quick = { MEGURI_DRAIN_SECONDS: "1", MEGURI_TEST_CLOCK: "1" };
  const config = readConfig({ ...free, ...quick, ...env }, "server");
  const { authenticate, certificates, ...access } = composeAccess(config, log);
  const server = createServer({ deps, config, log, authenticate, certificates });
  const ports = await server.listen();
  const { port } = ports;
  const sessions = new Http2SessionManager(`http://127.0.0.1:${port}`);
  const clientsOf = (caller: string | undefined) => connect(sessions, port, caller);
  const closing = new AbortController();
  const handlers = createRouterTransport(
    routes({
      ...{ deps, log, authenticate, testClock: config.testClock, calls: createCalls(log) },
      ...{ states: createServerStates(), closing: closing.signal, uploadIdleMs: 30_000 },
    }),
  );
  return {
    ...clientsOf("tests"),
    ...ports,
    handlers,
    config,
    deps,
    store,
    log,
    workflows,
    clientsOf,
    async stop() {
      sessions.abort();
      await server.drain();
      closing.abort();
      deps.unreadCounts.close();
      deps.bulkGrantStreams.close();
      deps.eventStreams.close();
      access.close();
    },
  };
}

/** Dependencies on a store in memory, whose test clock is in the store as DynamoDB's is. */
function memoryServerDeps(log: Logger): WorkerDeps & { readonly store: MemoryStore } {
  const { deps, store } = memoryDeps();
  const clock = createTestClock(deps.reader, { offsetMs: () => 0 });
  const engine = new CommitEngine({ store: store.itemStore, clock });
  const unreadCounts = createUnreadCountStreams({ reader: deps.reader, log, maxStreams: 100 });
  const bulkGrantStreams = createBulkGrantStreams({
    ...{ reader: deps.reader, log, maxStreams: 100 },
    progressOf: (bulkGrant) => progressOf(deps, bulkGrant),
  });
  const readAhead: WorkerDeps["readAhead"] = (requests) => engine.readAhead(requests);
  const { eventLog } = deps;
  const events = eventPorts({ eventLog, clock });
  return { ...deps, ...events, clock, engine, readAhead, unreadCounts, bulkGrantStreams, store };
}

/** Clients of the server on a port, which call as the service `caller`. */
export function connect(
  sessionManager: Http2SessionManager,
  port: number,
  caller: string | undefined,
  defaultTimeoutMs?: number,
): Clients {
  const named: Interceptor = (next) => (req) => {
    if (caller !== undefined && !req.header.has("meguri-caller")) {
      req.header.set("meguri-caller", caller);
    }
    return next(req);
  };
  const transport = createGrpcTransport({
    baseUrl: `http://127.0.0.1:${port}`,
    sessionManager,
    interceptors: [named],
    ...(defaultTimeoutMs !== undefined && { defaultTimeoutMs }),
  });
  const client = <S extends DescService>(service: S) => createClient(service, transport);
  return {
    programs: client(ProgramService),
    points: client(PointsService),
    reservations: client(ReservationService),
    holds: client(HoldService),
    reactions: client(ReactionService),
    notifications: client(notifications.NotificationService),
    bulkGrants: client(BulkGrantService),
    acts: client(ActService),
    events: client(EventService),
    clock: client(ClockService),
    health: client(Health),
  };
}
