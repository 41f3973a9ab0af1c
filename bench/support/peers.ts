/** Starts what Meguri is compared with: a server and a worker on a Postgres of their own. */
import { Pool } from "pg";
import { PgBoss } from "pg-boss";
import { dueQueue, tables } from "../baselines/postgres-ledger.ts";
import { startPostgres } from "./postgres.ts";
import type { Process, ServerProcess, Stack } from "./stack.ts";

export interface Peer {
  readonly pool: Pool;
  /** The process of which all others of Postgres are children. */
  readonly postgresPid: number;
  startServer(): Promise<ServerProcess>;
  startWorker(): Promise<Process>;
}

/** Runs `use` with a Postgres that has the tables of the ledger, and stops it. */
export async function withPeer<T>(stack: Stack, use: (peer: Peer) => Promise<T>): Promise<T> {
  const postgres = await startPostgres();
  const pool = new Pool({ connectionString: postgres.url });
  const env = { BENCH_POSTGRES: postgres.url };
  const started: Process[] = [];
  const keep = <P extends Process>(process: P): P => {
    started.push(process);
    return process;
  };
  try {
    await pool.query(tables);
    const boss = await new PgBoss(postgres.url).start();
    await boss.createQueue(dueQueue);
    await boss.stop();
    return await use({
      pool,
      postgresPid: postgres.pid,
      startServer: async () =>
        keep(await stack.startServer({ entry: "bench/baselines/postgres-server.ts", env })),
      startWorker: async () =>
        keep(await stack.startWorker({ entry: "bench/baselines/pg-boss-worker.ts", env })),
    });
  } finally {
    // Postgres waits for its clients when it stops.
    for (const process of started.reverse()) await process.stop();
    await pool.end();
    await postgres.stop();
  }
}
