/** Starts a Postgres of its own, with the server's defaults, in a folder that ends with it. */
import { execFile, spawn } from "node:child_process";
import { globSync } from "node:fs";
import { chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "pg";
import { adopt, waitUntilReady } from "../../tools/dev/stack/child.ts";
import { findPorts } from "../../tools/dev/stack/free-port.ts";

const run = promisify(execFile);

export interface Postgres {
  readonly url: string;
  /** The process of which all others of Postgres are children. */
  readonly pid: number;
  stop(): Promise<void>;
}

/** The folder of Postgres's programs: that of `pg_config`, or the newest of Debian's. */
export async function findPostgres(): Promise<string | undefined> {
  try {
    return (await run("pg_config", ["--bindir"])).stdout.trim();
  } catch {
    const folders = globSync("/usr/lib/postgresql/*/bin/postgres").map((file) => join(file, ".."));
    return folders.sort((a, b) => a.localeCompare(b, "en", { numeric: true })).at(-1);
  }
}

/** Throws an error when Postgres is not installed. */
export async function startPostgres(): Promise<Postgres> {
  const programs = await findPostgres();
  if (!programs) throw new Error("Postgres is not installed");
  const owner = await unprivileged();
  const folder = await mkdtemp(join(tmpdir(), "meguri-bench-postgres-"));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    if (owner) await chown(folder, owner.uid, owner.gid);
    const options = { cwd: folder, ...owner };
    const data = join(folder, "data");
    await run(join(programs, "initdb"), ["-D", data, "-U", "bench", "-A", "trust"], options);
    const [port] = await findPorts(0);
    const process_ = spawn(
      join(programs, "postgres"),
      ["-D", data, "-p", String(port), "-h", "127.0.0.1", "-k", folder],
      { ...options, detached: true, stdio: ["ignore", "pipe", "pipe"] },
    );
    const child = await adopt(process_, { name: "Postgres" });
    const url = `postgres://bench@127.0.0.1:${port}/postgres`;
    await waitUntilReady(child, () => answers(url));
    return {
      url,
      pid: child.pid,
      async stop() {
        await child.stop();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Postgres refuses to run as root; its package makes a user for it. */
async function unprivileged(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const id = async (option: string) => Number((await run("id", [option, "postgres"])).stdout);
  return { uid: await id("-u"), gid: await id("-g") };
}

async function answers(connectionString: string): Promise<boolean> {
  const client = new Client({ connectionString });
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}
