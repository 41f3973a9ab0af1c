/** Servers as processes of their own, which tests kill and start again. */
import { Http2SessionManager } from "@connectrpc/connect-node";
import { findPorts } from "../../../tools/dev/stack/free-port.ts";
import { startService } from "../../../tools/dev/stack/service.ts";
import { eventually } from "../fixtures/waiting.ts";
import { type Clients, connect } from "./server.ts";

/** A server that keeps its ports when it starts again. */
export interface ServerProcess {
  clientsOf(caller: string): Clients;
  /** Kills it by SIGKILL, like a crash. */
  kill(): Promise<void>;
  /** Starts it again, after `kill`. */
  restart(): Promise<void>;
  /** Kills it and closes the connections of its clients. */
  stop(): Promise<void>;
}

/** Starts a server on free ports with these variables of the environment. */
export async function startServerProcess(
  env: Readonly<Record<string, string>>,
): Promise<ServerProcess> {
  const [port, http1Port] = await findPorts(0, 0);
  const ports = {
    MEGURI_PORT: String(port),
    MEGURI_HTTP1_PORT: String(http1Port),
    MEGURI_OPERATORS_PORT: "0",
  };
  const start = () =>
    startService({ name: "server", entry: "src/server.ts", env: { ...ports, ...env } });
  let child = await start();
  const sessions = new Http2SessionManager(`http://127.0.0.1:${port}`);
  return {
    clientsOf: (caller) => connect(sessions, port, caller),
    kill: () => child.killHard(),
    async restart() {
      // A connection of another process may have its port by now, mostly for a short time.
      child = await eventually(start);
    },
    async stop() {
      sessions.abort();
      await child.killHard();
    },
  };
}
