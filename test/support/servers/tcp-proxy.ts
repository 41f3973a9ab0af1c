/** A TCP proxy that a test cuts, as a network is cut. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface TcpProxy {
  readonly port: number;
  /** Passes nothing on any more, in both directions, while all connections stay open. */
  hang(): void;
  /** Closes its connections, and those that come later. */
  cut(): void;
  /** Passes on what new connections send. */
  restore(): void;
  stop(): Promise<void>;
}

/** Starts a proxy on a free port in front of a port of loopback. */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((incoming) => {
    if (isCut) {
      incoming.destroy();
      return;
    }
    const outgoing = connect(targetPort, "127.0.0.1");
    const pair = [incoming, outgoing];
    for (const socket of pair) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        for (const other of pair) other.destroy();
      });
    }
    incoming.pipe(outgoing).pipe(incoming);
  });
  const cut = () => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    hang() {
      for (const socket of sockets) socket.unpipe().pause();
    },
    cut,
    restore() {
      isCut = false;
    },
    async stop() {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}
