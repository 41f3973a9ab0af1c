/**
 * A baseline for reservations, without Temporal: each full second a process queries the index for
 * due records and grants them, 64 at a time, by the same use case and in the same transactions as
 * the worker. It queries the next page after it has granted the records of the last one.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { compose } from "../../src/compose.ts";
import { readConfig } from "../../src/platform/config/config.ts";
import { createLogger } from "../../src/platform/observe/log.ts";
import { executeReservation } from "../../src/reservations/use-cases/execute.ts";
import { noWorkflows } from "../../test/support/servers/no-workflows.ts";
import { inParallel } from "../support/load.ts";

const tickMs = 1_000;
const inFlight = 64;
const pageSize = 1_000;

const config = readConfig(process.env, "worker");
const log = createLogger("scanner", config.logLevel);
const { deps } = compose(config, noWorkflows, log);

async function scan(): Promise<void> {
  let cursor: string | undefined;
  do {
    const window = { start: undefined, end: Date.now() + 1 };
    const page = await deps.reader.reservationsInState(
      { programId: "default" },
      "PENDING",
      window,
      {
        size: pageSize,
        cursor,
      },
    );
    await inParallel(inFlight, page.items, ({ programId, reservationId, userId }) =>
      executeReservation(deps, { programId, reservationId, userId }),
    );
    cursor = page.cursor;
  } while (cursor !== undefined);
}

process.once("SIGTERM", () => process.exit(0));
await deps.programs.get("default");
log.info({ tickMs }, "ready");
for (;;) {
  await sleep(tickMs - (Date.now() % tickMs));
  await scan();
}
