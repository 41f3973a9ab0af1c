/** The port for operators' tools: plain HTTP pages such as probes and metrics. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** The answer of a page. */
export interface Answer {
  readonly status: number;
  /** Plain text if absent. */
  readonly contentType?: string;
  readonly text: string;
}

export interface OperatorsListener {
  /** Listens on this port, 0 meaning any free one. Returns the port in use. */
  listen(host: string, port: number): Promise<number>;
  close(): void;
}

/** Answers as long as the process does: whether the process has to be restarted. */
const livez = async (): Promise<Answer> => ({ status: 200, text: "alive\n" });

const notFound: Answer = { status: 404, text: "not found\n" };
const failed: Answer = { status: 500, text: "failed\n" };

/** Serves `GET` and `HEAD` of these pages, by their paths, and of `/livez`. */
export function createOperatorsListener(
  pages: Readonly<Record<string, () => Promise<Answer>>>,
): OperatorsListener {
  const byPath = new Map(Object.entries({ "/livez": livez, ...pages }));
  const server = createServer(async ({ method, url = "" }, response) => {
    const isRead = method === "GET" || method === "HEAD";
    const page = isRead ? byPath.get(url.split("?", 1)[0] ?? "") : undefined;
    const answer = page ? await page().catch(() => failed) : notFound;
    const { status, contentType = "text/plain; charset=utf-8", text } = answer;
    response.writeHead(status, { "content-type": contentType, "cache-control": "no-store" });
    response.end(text);
  });
  return {
    async listen(host, port) {
      server.listen(port, host);
      await once(server, "listening");
      return (server.address() as AddressInfo).port;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
