/** The server process: serves the API, and ensures Temporal's schedules. */
import { setTimeout as sleep } from "node:timers/promises";
import { Registry } from "prom-client";
import { pickUpsOf } from "./bulk-grants/sources/definitions.ts";
import {
  compose,
  composeAccess,
  composeWorkflows,
  readSources,
  usedCertificates,
} from "./compose.ts";
import type { Deps } from "./hub/deps.ts";
import { authenticateByHeader } from "./platform/auth/header.ts";
import { type Config, readConfigToStart } from "./platform/config/config.ts";
import { runProcess } from "./platform/config/config-error.ts";
import { createCalls } from "./platform/edge/calls.ts";
import { createListeners, type Ports } from "./platform/edge/listeners.ts";
import type { Certificates } from "./platform/edge/servers.ts";
import { createLogger, type Logger } from "./platform/observe/log.ts";
import { startTracing } from "./platform/observe/tracing.ts";
import type { Authenticate } from "./platform/ports/identity.ts";
import { exportCertificateEnds, exportKeyAges } from "./platform/probes/keys.ts";
import { createOperatorsListener } from "./platform/probes/listener.ts";
import {
  createMetricsPage,
  createProcessRegistry,
  exportGauge,
  exportMetrics,
  exportStore,
} from "./platform/probes/metrics.ts";
import { createReadiness } from "./platform/probes/readiness.ts";
import { DomainError } from "./platform/words/errors.ts";
import { createLease } from "./platform/work/lease.ts";
import { createServerStates } from "./platform/work/server-states.ts";
import { routes } from "./routes.ts";
import { endIfDifferent } from "./temporal/installation.ts";
import { keepEnsuringSchedules } from "./temporal/keep-schedules.ts";

/** The share of the drain time in which load balancers learn of it from the health check. */
const noticeShare = 0.1;

/** How long an upload may wait for the next message of its client. */
const defaultUploadIdleMs = 30_000;

type ServerVariables =
  | "host"
  | "port"
  | "http1Port"
  | "operatorsPort"
  | "drainSeconds"
  | "testClock"
  | "callsPerSecond"
  | "corsOrigins";

interface ServerDeps {
  readonly deps: Deps;
  readonly config: Pick<Config, ServerVariables>;
  readonly log: Logger;
  /** By the header `meguri-caller` unless another is given. */
  readonly authenticate?: Authenticate;
  /** Absent: both ports are cleartext. */
  readonly certificates?: Certificates | undefined;
  /** Where its metrics go: beside those of the process, in production. */
  readonly registry?: Registry;
  /** 30 s unless a test has less time. */
  readonly uploadIdleMs?: number;
}

export interface Server {
  /** Listens on the operators' port first. Health checks answer SERVING when all ports listen. */
  listen(): Promise<Ports & { readonly operatorsPort: number }>;
  /**
   * Answers health checks with NOT_SERVING, refuses new streams, and ends the open ones spread over
   * a tenth of the configured time. After this tenth it ends the streams of health and reflection,
   * accepts no new calls and waits for running ones; at the end of the time it closes the remaining
   * connections, and the operators' port.
   */
  drain(): Promise<void>;
}

/** Creates a server with these dependencies. It serves from its method `listen` on. */
export function createServer({
  deps,
  config,
  log,
  authenticate = authenticateByHeader,
  certificates,
  registry = new Registry(),
  uploadIdleMs = defaultUploadIdleMs,
}: ServerDeps): Server {
  const { host, testClock, drainSeconds, callsPerSecond, corsOrigins } = config;
  const states = createServerStates();
  const closing = new AbortController();
  const standard = { states, closing: closing.signal };
  const access = { authenticate, callsPerSecond };
  const calls = createCalls(log);
  const listeners = createListeners({
    routes: routes({ deps, log, testClock, uploadIdleMs, calls, ...access, ...standard }),
    calls,
    certificates,
    corsOrigins,
  });
  exportStore(registry, deps);
  exportMetrics(registry, calls.tallies);
  const operators = createOperatorsListener({
    "/readyz": createReadiness({ deps, states, log }),
    "/metrics": createMetricsPage(registry),
  });
  return {
    async listen() {
      const operatorsPort = await operators.listen(host, config.operatorsPort);
      const ports = await listeners.listen(host, config);
      states.enter("SERVING");
      return { ...ports, operatorsPort };
    },
    async drain() {
      states.enter("DRAINING");
      const noticeMs = drainSeconds * 1_000 * noticeShare;
      deps.unreadCounts.drain(noticeMs);
      deps.bulkGrantStreams.drain(noticeMs);
      deps.eventStreams.drain(noticeMs);
      await sleep(noticeMs);
      // Every stream has ended before the listeners drain, even if its timer is late.
      deps.unreadCounts.close();
      deps.bulkGrantStreams.close();
      deps.eventStreams.close();
      closing.abort(new DomainError("DRAINING", "this server is about to stop; try another"));
      await listeners.drain(drainSeconds * 1_000 - noticeMs);
      operators.close();
    },
  };
}

if (import.meta.main) await runProcess(main);

/** Starts whether or not Temporal answers, and drains on a signal. */
async function main(): Promise<void> {
  const config = await readConfigToStart(process.env, "server");
  const pickUps = pickUpsOf(readSources(config));
  const log = createLogger("server", config.logLevel);
  const stopTracing = await startTracing(config, "meguri-server", log);
  const workflows = composeWorkflows(config, log);
  const { deps, close } = compose(config, workflows, log);
  const { authenticate, certificates, keyAges, ...access } = composeAccess(config, log);
  const stopping = new AbortController();
  await endIfDifferent(workflows.link, deps.reader, stopping.signal);
  const registry = createProcessRegistry();
  const server = createServer({ deps, config, log, authenticate, certificates, registry });
  const lease = createLease(deps, "schedules", log);
  const schedules = keepEnsuringSchedules(workflows, deps.reader, lease, pickUps);
  exportKeyAges(registry, { ...keyAges, ...workflows.keyAges });
  exportCertificateEnds(registry, usedCertificates(config, certificates));
  exportGauge(
    registry,
    "meguri_schedules_not_ensured",
    "Programs and sources whose schedules could not be ensured by the last attempt.",
    schedules.notEnsured,
  );

  async function stop(signal: string): Promise<void> {
    log.info({ signal }, "draining");
    stopping.abort();
    const released = schedules.stop();
    await server.drain();
    await released;
    access.close();
    await close();
    await workflows.close();
    await stopTracing();
    log.info("stopped");
    process.exit(0);
  }
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => void stop(signal));
  }
  log.info(await server.listen(), "ready");
  process.send?.("ready");
}
