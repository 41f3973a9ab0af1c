/** A loopback server that takes messages as Slack's incoming webhooks do, and injects failures. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/**
 * What happens to one request instead of the answer `ok`: an answer with a status; the connection
 * ends before an answer or within one; or there is no answer. The last three take the message.
 */
type SlackFailure =
  | { readonly status: number; readonly body?: string }
  | "RESET"
  | "CUT_OFF"
  | "SILENT";

export interface SlackServer {
  readonly webhookUrl: string;
  /** The texts of the messages that a channel would show. */
  readonly messages: readonly string[];
  /** How many requests came, those that failed included. */
  readonly requestCount: number;
  /** Lets the next requests fail, in this order. */
  failNext(...failures: readonly SlackFailure[]): void;
  /** Ends the server and its connections. May be repeated. */
  stop(): Promise<void>;
}

const path = "/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX";

export async function startSlackServer(): Promise<SlackServer> {
  const messages: string[] = [];
  const failures: SlackFailure[] = [];
  let requestCount = 0;
  const server = createServer(async (request, response) => {
    requestCount += 1;
    const failure = failures.shift();
    if (typeof failure === "object") {
      request.resume();
      return answer(response, failure.status, failure.body ?? "rollup_error");
    }
    const message = await messageOf(request);
    if ("refused" in message) return answer(response, message.status, message.refused);
    messages.push(message.text);
    if (failure === "RESET") request.socket.destroy();
    else if (failure === "CUT_OFF") {
      response.writeHead(200, { "content-length": 2 });
      response.write("o", () => request.socket.destroy());
    } else if (failure === undefined) answer(response, 200, "ok");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    webhookUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    messages,
    get requestCount() {
      return requestCount;
    },
    failNext: (...next) => void failures.push(...next),
    async stop() {
      if (!server.listening) return;
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** Reads a message, or says why Slack would refuse it, by its documented errors. */
async function messageOf(
  request: IncomingMessage,
): Promise<{ readonly text: string } | { readonly refused: string; readonly status: number }> {
  const body = await text(request);
  if (request.url !== path) return { refused: "no_service", status: 404 };
  const isJson = request.headers["content-type"]?.startsWith("application/json");
  const payload = request.method === "POST" && isJson ? parsed(body) : undefined;
  if (payload === undefined) return { refused: "invalid_payload", status: 400 };
  return payload.text ? { text: payload.text } : { refused: "no_text", status: 400 };
}

function parsed(body: string): { readonly text?: string } | undefined {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function answer(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "text/html" }).end(body);
}
