/** Builds the dependencies that processes and tools have in common. */

import { readFileSync } from "node:fs";
import { createDriveSource } from "./bulk-grants/google-sources/drive.ts";
import type { BulkSources } from "./bulk-grants/ports/bulk-grants.ts";
import { createBulkGrantStreams } from "./bulk-grants/runtime/bulk-grants.ts";
import { type CountedReporter, countFailedReports } from "./bulk-grants/slack/counted-reporter.ts";
import { createSlackReporter, noReporter } from "./bulk-grants/slack/reporter.ts";
import { createBulkSources } from "./bulk-grants/sources/bulk-sources.ts";
import { readSourceDefinitions, type SourceDefinition } from "./bulk-grants/sources/definitions.ts";
import { createObjectSource } from "./bulk-grants/sources/objects.ts";
import { createDynamoSheetStore } from "./bulk-grants/store/sheet-store.ts";
import { progressOf } from "./bulk-grants/use-cases/queries.ts";
import { createDueHours } from "./due/runtime/due-hours.ts";
import { createEventReads } from "./events/runtime/event-reads.ts";
import { createEventLog } from "./events/store/event-log.ts";
import { createAnnouncements } from "./feed/announce/announcements.ts";
import { createTargetOwnerCache } from "./feed/runtime/target-owner-cache.ts";
import { createUnreadCountStreams } from "./feed/runtime/unread-counts.ts";
import { targetOf } from "./feed/store/codecs/reactions.ts";
import { createDynamoPurger } from "./feed/store/purger.ts";
import type { Deps, WorkerDeps, Workflows } from "./hub/deps.ts";
import { watchApiKey } from "./platform/auth/api-key-file.ts";
import { createCertificateAuthenticator } from "./platform/auth/certificate.ts";
import { authenticateByHeader } from "./platform/auth/header.ts";
import { createJwtAuthenticator } from "./platform/auth/jwt.ts";
import { watchTls } from "./platform/auth/tls-files.ts";
import type { Watched } from "./platform/auth/watch-files.ts";
import { isLoopback } from "./platform/config/access.ts";
import type { Config } from "./platform/config/config.ts";
import { usingVariable } from "./platform/config/config-error.ts";
import { type Clients, createClients } from "./platform/dynamodb/sdk/client.ts";
import { tableName } from "./platform/dynamodb/tables.ts";
import type { Certificates } from "./platform/edge/servers.ts";
import { CommitEngine } from "./platform/engine/engine.ts";
import type { Logger } from "./platform/observe/log.ts";
import type { Clock } from "./platform/ports/clock.ts";
import type { Authenticator } from "./platform/ports/identity.ts";
import type { KeyAges, UsedCertificates } from "./platform/probes/keys.ts";
import type { TemporalEndpoint } from "./platform/temporal/connection.ts";
import { createWorkflowLinks, noLinks } from "./platform/temporal/links.ts";
import { createBackgroundTasks } from "./platform/work/background-tasks.ts";
import { createSystemClock, createTestClock } from "./platform/work/clocks.ts";
import { createPace } from "./platform/work/pace.ts";
import { watchStore } from "./platform/work/store-watch.ts";
import { createDestinations, readDestinations } from "./points/exports/destinations.ts";
import type { ExportDestinations } from "./points/ports/exports.ts";
import { exportFormat } from "./points/rpc/export-format.ts";
import { createProgramCache } from "./points/runtime/program-cache.ts";
import { accountOf } from "./points/store/codecs/points.ts";
import { createSnapshotRemover } from "./points/store/ledger-items.ts";
import { createDynamoItemStore } from "./store/item-store.ts";
import { createDynamoReader } from "./store/readers.ts";
import type { TemporalWorkflows } from "./temporal/temporal-workflows.ts";
import { createWorkflows } from "./temporal/workflows.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export interface Composed<T> {
  readonly deps: T;
  /** Ends the streams, finishes the background tasks, then closes the clients. */
  close(): Promise<void>;
}

/** Where Temporal is, for the connections of one process. */
interface ComposedEndpoint extends TemporalEndpoint {
  readonly apiKey?: Watched<string>;
}

/** Reads the files of TLS once: a new certificate needs a new process. Watches the API key's. */
function temporalEndpoint(config: Config, log: Logger): ComposedEndpoint {
  const { temporalAddress: address, temporalTls, temporalApiKeyFile: keyFile } = config;
  if (temporalTls === undefined) return { address };
  const { caFile, pair, serverName } = temporalTls;
  return {
    address,
    tls: {
      ...(caFile && { serverRootCACertificate: readFileSync(caFile) }),
      ...(pair && {
        clientCertPair: { crt: readFileSync(pair.certFile), key: readFileSync(pair.keyFile) },
      }),
      ...(serverName && { serverNameOverride: serverName }),
    },
    ...(keyFile && {
      apiKey: usingVariable("MEGURI_TEMPORAL_API_KEY_FILE", () => watchApiKey(keyFile, log)),
    }),
  };
}

interface ComposedWorkflows extends TemporalWorkflows {
  /** For the other connection of a worker. */
  readonly endpoint: ComposedEndpoint;
  /** How long ago the API key was read, if there is one. */
  readonly keyAges: KeyAges;
}

/**
 * The certificates of a process: those of its ports, which change while it runs, and those of its
 * connections, which are read once.
 */
export function usedCertificates(config: Config, ofPorts?: Certificates): UsedCertificates {
  const { temporalTls, announce } = config;
  const files = {
    temporal_ca: temporalTls?.caFile,
    temporal_client: temporalTls?.pair?.certFile,
    announce_ca: announce?.caFile,
  };
  const readOnce = Object.entries(files).flatMap(([name, file]) => {
    const pem = file && readFileSync(file, "utf8");
    return pem ? [[name, () => pem] as const] : [];
  });
  const current = (part: "cert" | "ca") => () => [ofPorts?.current()[part] ?? []].flat().join("\n");
  return {
    ...Object.fromEntries(readOnce),
    ...(ofPorts && { tls: current("cert") }),
    ...(ofPorts?.current().ca && { client_ca: current("ca") }),
  };
}

/** Builds the client side of Temporal, which connects when it is first used. */
export function composeWorkflows(config: Config, log: Logger): ComposedWorkflows {
  const endpoint = temporalEndpoint(config, log);
  const { apiKey } = endpoint;
  const workflows = createWorkflows({
    ...endpoint,
    namespace: config.temporalNamespace,
    taskQueue: config.taskQueue,
    log,
  });
  return {
    ...workflows,
    endpoint,
    keyAges: apiKey ? { temporal: apiKey.ageMs } : {},
    async close() {
      apiKey?.close();
      await workflows.close();
    },
  };
}

/** How a server verifies its callers, and the certificates of its ports. */
interface Access extends Pick<Authenticator, "authenticate" | "close"> {
  /** Undefined: both ports are cleartext. */
  readonly certificates: Certificates | undefined;
  /** How long ago each of its keys was read or fetched. */
  readonly keyAges: KeyAges;
}

/** Reads the files that access depends on, and logs which verification is on. */
export function composeAccess(config: Config, log: Logger): Access {
  const authenticator = composeAuthenticator(config, log);
  const { tls } = config;
  const certificates = tls && usingVariable("MEGURI_TLS_CERT_FILE", () => watchTls(tls, log));
  const { kind } = config.auth;
  return {
    authenticate: authenticator?.authenticate ?? authenticateByHeader,
    certificates,
    keyAges: {
      ...(authenticator && { [kind === "jwt" ? "jwt" : "callers"]: authenticator.ageMs }),
      ...(certificates && { tls: certificates.ageMs }),
    },
    close() {
      authenticator?.close();
      certificates?.close();
    },
  };
}

/** Undefined: callers are not verified. */
function composeAuthenticator({ auth, host, tls }: Config, log: Logger): Authenticator | undefined {
  const mode = { auth: auth.kind, tls: tls !== undefined };
  switch (auth.kind) {
    case "none":
      log.info(mode, "callers are not verified, so this server listens on loopback only");
      return undefined;
    case "jwt":
      log.info(mode, "callers are verified by their tokens");
      if (tls === undefined && !isLoopback(host)) {
        log.warn({ host }, "tokens arrive in cleartext, unless a proxy of this host has ended TLS");
      }
      return usingVariable("MEGURI_JWT_KEY_FILE", () => createJwtAuthenticator({ ...auth, log }));
    case "mtls":
      log.info(mode, "callers are verified by their certificates");
      return usingVariable("MEGURI_CALLERS_FILE", () => createCertificateAuthenticator(auth, log));
  }
}

/** Builds what all processes have of the store. */
export function composeStore(config: Config, clients: Clients) {
  const names = tableName(config.tablePrefix);
  const reader = createDynamoReader(clients, names);
  const clock: Clock = config.testClock
    ? createTestClock(reader, clients)
    : createSystemClock(clients);
  const engine = new CommitEngine({ store: createDynamoItemStore(clients.single, names), clock });
  return {
    ...{ engine, reader, clock },
    storeSilenceMs: clients.silenceMs,
    storeUnansweredMs: clients.unansweredMs,
    storeRefusals: clients.refusals,
    tallies: { store: clients.tallies, commits: engine.tallies, clockSkewMs: clients.skewMs },
    programs: createProgramCache(reader, config.testClock),
    eventLog: createEventLog(clients.retrying, names("events")),
  };
}

export interface ComposeOptions {
  /** Other clients of DynamoDB than those of the configuration, such as a test's. */
  readonly clients?: Clients | undefined;
}

/** Builds the use cases' dependencies on the store. */
export function compose(
  config: Config,
  workflows: Workflows,
  log: Logger,
  { clients = clientsOf(config) }: ComposeOptions = {},
): Composed<Deps> {
  const names = tableName(config.tablePrefix);
  const ofStore = composeStore(config, clients);
  const { reader, engine, clock } = ofStore;
  const background = createBackgroundTasks(log);
  const { maxStreams } = config;
  const announcements = composeAnnouncements(config, log);
  const unreadCounts = createUnreadCountStreams({ reader, log, maxStreams, announcements });
  const bulkGrantStreams = createBulkGrantStreams({
    ...{ reader, log, maxStreams },
    progressOf: (bulkGrant) => progressOf({ reader }, bulkGrant),
  });
  const eventReads = createEventReads({ ...ofStore, log, maxStreams });
  const reporter = composeReporter(config);
  const storeWatch = watchStore(ofStore, log);
  const paceSweep = createPace(config.sweepChangesPerSecond);
  return {
    deps: {
      ...ofStore,
      readAhead: (requests) => engine.readAhead(requests),
      tallies: {
        ...ofStore.tallies,
        droppedTasks: background.dropped,
        failedReports: reporter.failed,
      },
      dueHours: createDueHours(engine, clock),
      workflows,
      owners: createTargetOwnerCache(reader),
      paceSweep,
      purger: createDynamoPurger(clients, names, paceSweep),
      removeSnapshot: createSnapshotRemover(clients.retrying, names("points")),
      unreadCounts,
      bulkGrantStreams,
      sheets: createDynamoSheetStore(clients, names),
      ...eventReads,
      exportDestinations: composeDestinations(config),
      exportFormat,
      reporter,
      approvalTimes: {
        reminderMs: config.approvalReminderHours * hourMs,
        expiryMs: config.approvalExpiryHours * hourMs,
      },
      awaitRowSlot: createPace(config.bulkRowsPerSecond),
      historyMs: config.historyDays * dayMs,
      background: background.run,
    },
    async close() {
      unreadCounts.close();
      bulkGrantStreams.close();
      eventReads.eventStreams.close();
      await background.close();
      await announcements?.close();
      storeWatch.close();
      clients.close();
    },
  };
}

/** Builds the dependencies of a worker: the sources of sheets, with their keys, and the others. */
export function composeWorker(...of: Parameters<typeof compose>): Composed<WorkerDeps> {
  const [config] = of;
  const bulkSources = composeSources(config);
  const { deps, close } = compose(...of);
  return { deps: { ...deps, bulkSources }, close };
}

/** The clients of DynamoDB that a process has by its configuration. */
export const clientsOf = ({ dynamoEndpoint, region, dynamoTransport }: Config): Clients =>
  createClients({
    endpoint: dynamoEndpoint,
    region,
    transport: dynamoTransport,
    hotKeys: { targetOf, accountOf },
  });

/** Reads the file of the authorities once: a new one needs a new process. */
function composeAnnouncements({ announce, tablePrefix: prefix }: Config, log: Logger) {
  if (announce === undefined) return undefined;
  const { url, caFile } = announce;
  const ca = caFile && readFileSync(caFile, "utf8");
  return createAnnouncements({ endpoint: { url, ca }, prefix, log });
}

/** Reads which sources are configured, and none of their keys. */
export const readSources = ({ bulkSources: file }: Config): readonly SourceDefinition[] =>
  usingVariable("MEGURI_BULK_SOURCES", () => readSourceDefinitions(file));

function composeSources(config: Config): BulkSources {
  const definitions = readSources(config);
  return usingVariable("MEGURI_BULK_SOURCES", () =>
    createBulkSources(definitions, {
      folder: createObjectSource,
      s3: createObjectSource,
      drive: createDriveSource,
    }),
  );
}

const composeDestinations = ({ exportDestinations: file }: Config): ExportDestinations =>
  createDestinations(usingVariable("MEGURI_EXPORT_DESTINATIONS", () => readDestinations(file)));

const composeReporter = (config: Config): CountedReporter => {
  const { slackWebhookUrl: webhookUrl, temporalUiUrl, temporalNamespace } = config;
  if (webhookUrl === undefined) return countFailedReports(noReporter);
  const links = temporalUiUrl ? createWorkflowLinks(temporalUiUrl, temporalNamespace) : noLinks;
  return countFailedReports(createSlackReporter({ webhookUrl, links }));
};
