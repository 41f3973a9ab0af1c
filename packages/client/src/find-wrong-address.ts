/** Finds out that an address is another port than the client needs, or has the wrong scheme. */
import { connect as connectTcp, type Socket, type TcpSocketConnectOpts } from "node:net";
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls";
import { Code, ConnectError } from "@connectrpc/connect";
import { WrongAddress } from "./wrong-address.ts";

/** The protocol of a port. The version of HTTP is undefined if its answer does not show it. */
interface Spoken {
  readonly tls: boolean;
  readonly http: "2" | "1.1" | undefined;
}

const probeMs = 1_000;

/**
 * Asks a server that has answered no call for its protocol. Returns the error FAILED_PRECONDITION
 * if the client needs another one; undefined if not, or if the server does not show it.
 */
export async function findWrongAddress(
  url: string,
  http: "2" | "1.1",
  options: ConnectionOptions,
): Promise<ConnectError | undefined> {
  const { hostname, port, protocol, host } = new URL(url);
  const wanted = { tls: protocol === "https:", http };
  const place = {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port || (wanted.tls ? 443 : 80)),
    lookup: options.lookup,
  };
  const spoken = (await askByTls({ ...options, ...place })) ?? (await askInCleartext(place));
  const text = spoken && differenceOf(wanted, spoken);
  if (!text) return undefined;
  const message = `wrong address ${host}: ${text}`;
  const cause = new WrongAddress(message);
  return new ConnectError(message, Code.FailedPrecondition, undefined, undefined, cause);
}

function differenceOf(wanted: Spoken, spoken: Spoken): string | undefined {
  if (spoken.tls && !wanted.tls) return "this server speaks TLS, so its URL begins with https://";
  if (!spoken.tls && wanted.tls) return "this server speaks no TLS, so its URL begins with http://";
  if (spoken.http === undefined || spoken.http === wanted.http) return undefined;
  return spoken.http === "1.1"
    ? "this is an HTTP/1.1 port; gRPC needs the HTTP/2 port (MEGURI_PORT of the server, 8080)"
    : "this is the HTTP/2 port; HTTP/1.1 needs the other one (MEGURI_HTTP1_PORT, 8081)";
}

/** Undefined if the port speaks no TLS, or does not answer. Its certificate does not matter. */
function askByTls(options: ConnectionOptions): Promise<Spoken | undefined> {
  const ALPNProtocols = ["h2", "http/1.1"];
  const socket = connectTls({ ...options, ALPNProtocols, rejectUnauthorized: false });
  return answerOf<TLSSocket>(socket, (resolve) => {
    socket.once("secureConnect", () => {
      resolve({ tls: true, http: socket.alpnProtocol === "h2" ? "2" : "1.1" });
    });
    socket.once("error", ({ code = "" }: NodeJS.ErrnoException) => {
      const isAlert = code.startsWith("ERR_SSL_") && code.includes("ALERT");
      resolve(isAlert ? { tls: true, http: undefined } : undefined);
    });
  });
}

/** Where the type of an HTTP/2 frame is, and the type of the frame that comes first. */
const frameTypeAt = 3;
const settings = 4;

/** A server of HTTP/1.1 answers this; one of HTTP/2 sends its settings first whatever it gets. */
function askInCleartext(place: TcpSocketConnectOpts): Promise<Spoken | undefined> {
  const socket = connectTcp(place);
  socket.write("OPTIONS * HTTP/1.1\r\nhost: meguri\r\nconnection: close\r\n\r\n");
  return answerOf(socket, (resolve) => {
    socket.once("data", (data) => {
      if (data.toString("latin1").startsWith("HTTP/1.")) resolve({ tls: false, http: "1.1" });
      else resolve(data[frameTypeAt] === settings ? { tls: false, http: "2" } : undefined);
    });
    socket.once("error", () => resolve(undefined));
  });
}

/** Waits for an answer, and closes the socket. Undefined without one. */
async function answerOf<S extends Socket>(
  socket: S,
  listen: (resolve: (spoken: Spoken | undefined) => void) => void,
): Promise<Spoken | undefined> {
  try {
    return await new Promise((resolve) => {
      listen(resolve);
      socket.once("close", () => resolve(undefined));
      socket.setTimeout(probeMs, () => resolve(undefined));
    });
  } finally {
    socket.on("error", () => {});
    socket.destroy();
  }
}
