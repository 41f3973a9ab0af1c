/**
 * A peer's worker: pg-boss, which polls every half second, its least, and takes batches of 64 for
 * as long as they are full. A batch is one transaction, with the completion of its jobs.
 */
import { type Job, PgBoss } from "pg-boss";
import { readConfig } from "../../src/platform/config/config.ts";
import { createLogger } from "../../src/platform/observe/log.ts";
import { monthAt } from "../../src/platform/words/month.ts";
import { dueQueue, grantPoints } from "./postgres-ledger.ts";

const { BENCH_POSTGRES: connectionString = "" } = process.env;
const log = createLogger("pg-boss", readConfig(process.env, "worker").logLevel);
const boss = new PgBoss(connectionString);
boss.on("error", (error) => log.error(error));
await boss.start();

const claimText = `
  UPDATE reservations SET grant_time = clock_timestamp()
  WHERE reservation_id = $1 AND grant_time IS NULL
  RETURNING user_id, points, reason`;

await boss.work(
  dueQueue,
  {
    transactional: true,
    batchSize: 64,
    burstWhenBatchFull: true,
    pollingIntervalSeconds: 0.5,
  },
  async (jobs: Job<{ reservationId: string }>[], tx) => {
    const month = monthAt("Asia/Tokyo", Date.now());
    for (const { data } of jobs) {
      const { reservationId } = data;
      const { rows } = await tx.executeSql(claimText, [reservationId]);
      const [found] = rows as { user_id: string; points: string; reason: string }[];
      if (!found) continue;
      await grantPoints(tx.executeSql, {
        userId: found.user_id,
        points: Number(found.points),
        month,
        eventId: `r:${reservationId}`,
        reason: found.reason,
        caller: "bench",
      });
    }
  },
);
log.info({ queue: dueQueue }, "ready");
process.once("SIGTERM", () => process.exit(0));
