/** Real HTTP/2 servers of points whose streams a test breaks as it likes. */
import { once } from "node:events";
import * as http2 from "node:http2";
import type { AddressInfo } from "node:net";
import type { ServiceImpl } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { PointsService } from "../../src/gen/meguri/points/v1/points_service_pb.ts";

type Points = Partial<ServiceImpl<typeof PointsService>>;

/** Does something with a stream, and returns true if it is not to be served. */
export type Script = (stream: http2.ServerHttp2Stream, count: number) => boolean;

export interface ScriptedServer {
  readonly url: string;
  readonly port: number;
  /** The headers of the streams that were served. */
  readonly served: http2.IncomingHttpHeaders[];
  /** How many streams and connections have arrived. */
  arrived(): number;
  connections(): number;
  /** Decides what becomes of the next streams. */
  script: Script;
  stop(): Promise<void>;
}

/** Starts a server of these methods, by default one whose balances are empty. */
export async function startScripted(points: Points = { getBalance: () => ({}) }, port = 0) {
  const served: http2.IncomingHttpHeaders[] = [];
  let arrived = 0;
  let connections = 0;
  const handle = connectNodeAdapter({ routes: (router) => router.service(PointsService, points) });
  const sessions = new Set<http2.ServerHttp2Session>();
  const server = http2.createServer((req, res) => {
    arrived += 1;
    if (scripted.script(req.stream as http2.ServerHttp2Stream, arrived)) return;
    served.push(req.headers);
    handle(req, res);
  });
  server.on("session", (session) => {
    connections += 1;
    sessions.add(session);
    session.on("error", () => {});
    session.once("close", () => sessions.delete(session));
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const bound = (server.address() as AddressInfo).port;
  const scripted: ScriptedServer = {
    url: `http://127.0.0.1:${bound}`,
    port: bound,
    served,
    arrived: () => arrived,
    connections: () => connections,
    script: () => false,
    async stop() {
      if (!server.listening) return;
      const closed = once(server, "close");
      server.close();
      for (const session of sessions) session.destroy();
      await closed;
    },
  };
  return scripted;
}
