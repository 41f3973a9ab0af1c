/** The connection to one server, and the transport over it. */
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { LookupFunction } from "node:net";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import { findWrongAddress } from "./find-wrong-address.ts";
import type { MeguriOptions } from "./options.ts";
import { hasNoServer } from "./retry-policy.ts";

/** A silent connection with open calls is checked this often, and closed if nothing comes back. */
const pingIntervalMs = 10_000;
const pingTimeoutMs = 5_000;

/** Shorter than the 60 s after which load balancers close an idle connection. */
const idleConnectionTimeoutMs = 45_000;

/**
 * The memory of a connection in MB, as large as to be no limit. Node counts the bytes that it had
 * not sent of a stream that the server reset as used for ever, and would lose all answers at 10 MB.
 */
const maxSessionMemory = 1_000_000;

/** One address of a server. */
export interface Address {
  /** The URL, with the name as the caller has given it: TLS and the server see this name. */
  readonly url: string;
  /** The IP address of the name; undefined if the URL itself has one. */
  readonly ip?: string;
}

export interface Connection {
  readonly transport: Transport;
  /** Whether a call can be sent at once. */
  isReady(): boolean;
  /** Connects if necessary. Throws the ConnectError for which it has failed. */
  connect(): Promise<void>;
  close(): void;
}

/** Prepares the connection; nothing is connected yet. Calls `onGoaway` when the server stops. */
export function createConnection(
  options: Pick<MeguriOptions, "transport" | "httpVersion" | "tls">,
  { url, ip }: Address,
  onGoaway: () => void,
): Connection {
  const { transport, httpVersion, tls } = options;
  const nodeOptions = { ...tlsOptionsOf(tls), ...(ip !== undefined && { lookup: lookupOf(ip) }) };
  const address = createAddressCheck(url, httpVersion ?? "2", nodeOptions);
  if (httpVersion === "1.1") return createHttp1Connection(url, nodeOptions, address);
  const manager = new Http2SessionManager(
    url,
    { pingIntervalMs, pingTimeoutMs, idleConnectionTimeoutMs },
    { ...nodeOptions, maxSessionMemory },
  );
  const create = transport === "connect" ? createConnectTransport : createGrpcTransport;
  return {
    transport: address.checked(
      create({
        baseUrl: url,
        httpVersion: "2",
        sessionManager: observed(manager, onGoaway),
      }),
    ),
    isReady() {
      const state = manager.state();
      return state === "open" || state === "idle";
    },
    async connect() {
      if ((await manager.connect()) !== "error") return;
      const error =
        manager.error() ?? new ConnectError(`no connection to ${url}`, Code.Unavailable);
      throw await address.explain(error);
    },
    close: () => manager.abort(),
  };
}

/** HTTP/1.1 has one connection for each call under way, which are kept for the next calls. */
function createHttp1Connection(
  url: string,
  nodeOptions: object,
  address: AddressCheck,
): Connection {
  const Agent = url.startsWith("https:") ? HttpsAgent : HttpAgent;
  const agent = new Agent({ keepAlive: true });
  const transport = createConnectTransport({
    baseUrl: url,
    httpVersion: "1.1",
    nodeOptions: { ...nodeOptions, agent },
  });
  return {
    transport: address.checked(transport),
    isReady: () => true,
    connect: async () => {},
    close: () => agent.destroy(),
  };
}

/** Explains the failures of a server that has never answered by its address, if that is wrong. */
interface AddressCheck {
  /** The error to throw instead of this one, or the same. */
  explain(thrown: unknown): Promise<unknown>;
  /** The transport, whose failures are explained. */
  checked(transport: Transport): Transport;
}

function createAddressCheck(url: string, http: "2" | "1.1", nodeOptions: object): AddressCheck {
  let hasAnswered = false;
  let asking: Promise<ConnectError | undefined> | undefined;

  /** Calls that fail at the same time share one question. */
  function ask(): Promise<ConnectError | undefined> {
    asking ??= findWrongAddress(url, http, nodeOptions).finally(() => {
      asking = undefined;
    });
    return asking;
  }

  async function explain(thrown: unknown): Promise<unknown> {
    // Only the server's own headers are metadata.
    if (thrown instanceof ConnectError && !thrown.metadata.keys().next().done) hasAnswered = true;
    if (hasAnswered || hasNoServer(thrown)) return thrown;
    return (await ask()) ?? thrown;
  }

  async function explained<T>(answer: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    try {
      const answered = await answer;
      hasAnswered = true;
      return answered;
    } catch (thrown) {
      throw signal?.aborted ? thrown : await explain(thrown);
    }
  }

  return {
    explain,
    checked: ({ unary, stream }) => ({
      unary: (method, signal, ...rest) => explained(unary(method, signal, ...rest), signal),
      stream: (method, signal, ...rest) => explained(stream(method, signal, ...rest), signal),
    }),
  };
}

/** The manager, with each of its connections observed. */
function observed(
  manager: Http2SessionManager,
  onGoaway: () => void,
): Pick<Http2SessionManager, "authority" | "request" | "notifyResponseByteRead"> {
  const seen = new WeakSet<object>();
  return {
    authority: manager.authority,
    async request(...args) {
      const stream = await manager.request(...args);
      const { session } = stream;
      if (session && !seen.has(session)) {
        seen.add(session);
        session.on("goaway", onGoaway);
        // The manager stops listening when it replaces a connection. A late error of the old one
        // would end the process without a listener.
        session.on("error", () => {});
      }
      return stream;
    },
    notifyResponseByteRead: (stream) => manager.notifyResponseByteRead(stream),
  };
}

/** The options that Node knows by the same names, without absent ones. */
const tlsOptionsOf = (tls: MeguriOptions["tls"]): object =>
  Object.fromEntries(Object.entries(tls ?? {}).filter(([, value]) => value !== undefined));

/** Resolves every name to this IP address. Node asks for one address or for a list. */
function lookupOf(ip: string): LookupFunction {
  const family = ip.includes(":") ? 6 : 4;
  return (_name, { all }, callback) => {
    if (all) callback(null, [{ address: ip, family }]);
    else callback(null, ip, family);
  };
}
