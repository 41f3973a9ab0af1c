/**
 * The servers, workers and events processes of a run, two of each, as production starts them. Each
 * reaches the store and Temporal through connections that faults cut.
 */
import { Http2SessionManager } from "@connectrpc/connect-node";
import { connect } from "../../test/support/servers/server.ts";
import { findPorts } from "../dev/stack/free-port.ts";
import { startService } from "../dev/stack/service.ts";
import type { Server } from "./calls.ts";
import { type Links, startLinks } from "./links.ts";
import { type Observer, type Process, startProcess } from "./processes.ts";

/** A server, a worker or an events process. */
export interface Service {
  readonly name: string;
  readonly process: Process;
  readonly links: Links;
}

/** A process that answers calls. */
export interface Listener {
  readonly name: string;
  /** Rejects unless the process has answered. */
  call(): Promise<unknown>;
}

type Environment = Readonly<Record<string, string>>;

interface ServicesOptions {
  /** Gets how each part ends. */
  readonly ends: (() => unknown)[];
  readonly observer: Observer;
  /** The file with the bundle of the workflows. */
  readonly bundle: string;
  readonly storePort: number;
  readonly temporalPort: number;
  /** What all processes have in their environment. */
  readonly variables: Environment;
}

/** A call of a client ends after this long; a server that stands still may go on with it later. */
const callTimeoutMs = 5_000;

/** Starts all of them, and returns them when each is ready. */
export async function startServices({ ends, observer, bundle, ...options }: ServicesOptions) {
  const { storePort, temporalPort, variables } = options;

  async function startOne(name: string, entry: string, own: Environment): Promise<Service> {
    const links = await startLinks(storePort, entry === eventsEntry ? undefined : temporalPort);
    ends.push(links.store.stop, () => links.temporal?.stop());
    const linked = addresses(links.store.port, links.temporal?.port);
    const options = { name, entry, env: { ...variables, ...linked, ...own } };
    const process = await startProcess(name, () => startService(options), observer);
    ends.push(process.kill);
    return { name, process, links };
  }

  async function startServer(name: string): Promise<Service & Listener & { server: Server }> {
    const [port, http1Port] = await findPorts(0, 0);
    const sessions = new Http2SessionManager(`http://127.0.0.1:${port}`);
    ends.push(() => sessions.abort());
    const server: Server = (caller) => connect(sessions, port, caller, callTimeoutMs);
    const call = () => server("chaos").points.getBalance({ userId: "nobody" });
    const own = { MEGURI_PORT: `${port}`, MEGURI_HTTP1_PORT: `${http1Port}` };
    return { ...(await startOne(name, "src/server.ts", own)), server, call };
  }

  async function startEvents(name: string): Promise<Service & Listener> {
    const [port] = await findPorts(0);
    const own = { MEGURI_EVENTS_PORT: `${port}` };
    return { ...(await startOne(name, eventsEntry, own)), call: () => askWhetherReady(port) };
  }

  const both = <T>(name: string, start: (name: string) => Promise<T>) =>
    Promise.all([1, 2].map((i) => start(`${name} ${i}`)));
  const [servers, workers, events] = await Promise.all([
    both("server", startServer),
    both("worker", (name) => startOne(name, "src/worker.ts", { MEGURI_WORKFLOW_BUNDLE: bundle })),
    both("events", startEvents),
  ]);
  return { servers, workers, events };
}

const eventsEntry = "src/events.ts";

/** The variables with the addresses of the store and of Temporal. */
export const addresses = (storePort: number, temporalPort: number | undefined): Environment => ({
  MEGURI_DYNAMODB_ENDPOINT: `http://127.0.0.1:${storePort}`,
  ...(temporalPort && { MEGURI_TEMPORAL_ADDRESS: `127.0.0.1:${temporalPort}` }),
});

async function askWhetherReady(port: number): Promise<void> {
  const { ok, status } = await fetch(`http://127.0.0.1:${port}/readyz`);
  if (!ok) throw new Error(`it is not ready: ${status}`);
}
