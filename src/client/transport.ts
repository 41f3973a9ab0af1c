/** The transport of all clients: chooses servers, and sets headers and deadlines. */
import type { Interceptor, Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import type { MeguriOptions } from "./options.ts";

export function createMeguriTransport(options: MeguriOptions): {
  transport: Transport;
  close(): void;
} {
  const { url, caller, token, tls, timeoutMs = 10_000 } = options;
  const baseUrl = typeof url === "string" ? url : (url[0] ?? "");
  const headers: Interceptor = (next) => async (req) => {
    if (caller !== undefined) req.header.set("meguri-caller", caller);
    if (token !== undefined) {
      const text = typeof token === "string" ? token : await token();
      req.header.set("authorization", `Bearer ${text}`);
    }
    return await next(req);
  };
  const common = { baseUrl, interceptors: [headers], defaultTimeoutMs: timeoutMs };
  const sessionManager = new Http2SessionManager(baseUrl, {}, { ...tls } as object);
  const make = options.transport === "connect" ? createConnectTransport : createGrpcTransport;
  const transport =
    options.httpVersion === "1.1"
      ? createConnectTransport({ ...common, httpVersion: "1.1", nodeOptions: { ...tls } as object })
      : make({ ...common, httpVersion: "2", sessionManager });
  return { transport, close: () => sessionManager.abort() };
}
