/** Checks the ports on which a process listens. */
import { once } from "node:events";
import { createServer } from "node:net";
import type { Report } from "./config-error.ts";

/** The ports on which a process listens, by their variables. */
export type ListeningPorts = Readonly<Record<string, number>>;

/** Reports a port that another variable has, too. Any number of variables may have 0. */
export function reportEqualPorts(ports: ListeningPorts, report: Report): void {
  const names = Object.keys(ports);
  for (const [index, name] of names.entries()) {
    const other = names.slice(0, index).find((before) => ports[before] === ports[name]);
    if (other !== undefined && ports[name] !== 0) report(name, `is ${ports[name]}, as ${other} is`);
  }
}

/** Listens on each port for a moment, and reports those on which that fails. */
export async function reportTakenPorts(
  host: string,
  ports: ListeningPorts,
  report: Report,
): Promise<void> {
  for (const [name, port] of Object.entries(ports)) {
    const server = createServer();
    try {
      server.listen({ host, port });
      await once(server, "listening");
    } catch (error) {
      reportPort(name, port, host, error as NodeJS.ErrnoException, report);
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  }
}

function reportPort(
  name: string,
  port: number,
  host: string,
  { code, message }: NodeJS.ErrnoException,
  report: Report,
): void {
  if (code === "EADDRINUSE")
    report(name, `is ${port}, on which another process of ${host} listens`);
  else if (code === "EACCES") report(name, `is ${port}, on which this user may not listen`);
  else report("MEGURI_HOST", `is no address of this machine: ${message}`);
}
