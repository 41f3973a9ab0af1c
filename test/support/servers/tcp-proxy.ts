/** A TCP proxy that a test cuts, as a network is cut. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface TcpProxy {
  readonly port: number;
  /**
   * Passes nothing on any more, in both directions, while all connections stay open. New ones are
   * accepted, and wait.
   */
  hang(): void;
  /** Closes its connections, and those that come later. */
  cut(): void;
  /** Passes on what new connections send, and those that wait. One that hung stays silent. */
  restore(): void;
  stop(): Promise<void>;
}

/** Starts a proxy on a free port in front of a port of loopback. */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const waiting = new Set<Socket>();
  let state: "passing" | "hung" | "cut" = "passing";
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => {
      sockets.delete(socket);
      waiting.delete(socket);
    });
  };
  const pass = (incoming: Socket) => {
    const outgoing = connect(targetPort, "127.0.0.1");
    keep(outgoing);
    incoming.on("close", () => outgoing.destroy());
    outgoing.on("close", () => incoming.destroy());
    incoming.pipe(outgoing).pipe(incoming);
  };
  const server = createServer((incoming) => {
    if (state === "cut") {
      incoming.destroy();
      return;
    }
    keep(incoming);
    if (state === "hung") waiting.add(incoming);
    else pass(incoming);
  });
  const cut = () => {
    state = "cut";
    waiting.clear();
    for (const socket of sockets) socket.destroy();
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    hang() {
      state = "hung";
      for (const socket of sockets) socket.unpipe().pause();
    },
    cut,
    restore() {
      state = "passing";
      for (const socket of waiting) pass(socket);
      waiting.clear();
    },
    async stop() {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}
