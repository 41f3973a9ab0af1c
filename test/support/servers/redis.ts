/** A real Redis server that the tests stop, kill and start again. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { adopt, type Child, waitUntilReady } from "../../../tools/dev/stack/child.ts";
import { findPorts } from "../../../tools/dev/stack/free-port.ts";
import { findRedisServer } from "./redis-server.ts";

export interface RedisOptions {
  readonly password?: string;
  /** The files of a certificate and its key. Absent: the port is cleartext. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
}

export interface Redis {
  readonly port: number;
  /** Stops it from answering; its connections stay open. */
  pause(): void;
  resume(): void;
  /** Kills it, which closes its connections. */
  kill(): Promise<void>;
  /** Starts it again on the same port, after `kill`. */
  restart(): Promise<void>;
  /** Sends a command as a stranger does, and waits until the server has executed it. */
  send(...args: (string | Buffer)[]): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a server on a free port of loopback, which keeps nothing on disk. */
export async function startRedis(options: RedisOptions = {}): Promise<Redis> {
  const program = await findRedisServer();
  const [port] = await findPorts(0);
  const { password, tls } = options;
  const args = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
  if (password) args.push("--requirepass", password);
  if (tls) {
    args.push("--port", "0", "--tls-port", String(port), "--tls-auth-clients", "no");
    args.push("--tls-cert-file", tls.certFile, "--tls-key-file", tls.keyFile);
  } else args.push("--port", String(port));

  async function start(): Promise<Child> {
    const process_ = spawn(program, args, { detached: true, stdio: ["ignore", "pipe", "pipe"] });
    let isReady = false;
    const onLine = (line: string) => {
      isReady ||= line.includes("Ready to accept connections");
    };
    const child = await adopt(process_, { name: "Redis", onLine });
    await waitUntilReady(child, async () => isReady);
    return child;
  }

  let child = await start();
  return {
    port,
    pause: () => process.kill(child.pid, "SIGSTOP"),
    resume: () => process.kill(child.pid, "SIGCONT"),
    kill: () => child.killHard(),
    async restart() {
      child = await start();
    },
    async send(...args) {
      const socket = connect(port, "127.0.0.1");
      socket.write(`*${args.length}\r\n`);
      for (const arg of args.map((text) => Buffer.from(text))) {
        socket.write(`$${arg.length}\r\n`);
        socket.write(arg);
        socket.write("\r\n");
      }
      await once(socket, "data");
      socket.destroy();
    },
    async stop() {
      process.kill(child.pid, "SIGCONT");
      await child.stop();
    },
  };
}
