/** A loopback server that takes web hooks, and answers each request as a test says. */
import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** A request as it came. */
export interface Hook {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

type Answer = (response: ServerResponse, hook: Hook, request: IncomingMessage) => void;

/** Answers with a status and headers. */
export const status =
  (code: number, headers = {}): Answer =>
  (response) =>
    response.writeHead(code, headers).end();

/** Ends the connection: before the answer, or within it. */
export const cutOff: Answer = (response) => response.destroy();
export const cutOffWithin: Answer = (response) => {
  response.writeHead(200, { "content-length": 2 });
  response.write("o", () => response.destroy());
};

/** Never answers. */
export const hang: Answer = () => {};

export interface HookServer {
  readonly url: string;
  readonly hooks: readonly Hook[];
  /** Changes how requests are answered from now on; with 204 at first. */
  answer: Answer;
}

/** Starts a server that ends with the test; one with a certificate speaks TLS. */
export async function startHookServer(tls?: {
  readonly cert: string;
  readonly key: string;
}): Promise<HookServer> {
  const hooks: Hook[] = [];
  const listener: RequestListener = async (request, response) => {
    const hook = { headers: request.headers, body: await text(request).catch(() => "") };
    hooks.push(hook);
    started.answer(response, hook, request);
  };
  const server = tls ? createSecureServer(tls, listener) : createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const started: HookServer = {
    url: `${tls ? "https" : "http"}://127.0.0.1:${port}/events`,
    hooks,
    answer: status(204),
  };
  return started;
}
