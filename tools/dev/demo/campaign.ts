/**
 * Grants points by a sheet: a wrong row is mended, another service approves, and the worker is
 * killed while it runs.
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type BulkGrant,
  BulkGrantRow_State as RowState,
  BulkGrant_State as State,
  BulkGrant_StateSchema as StateSchema,
} from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import { EventOrigin } from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import { type Embedded, rowsPerSecond } from "./embedded.ts";
import { programId } from "./play.ts";
import { timesInLedger } from "./times-in-ledger.ts";

/** The result of the campaign. */
interface Granted {
  readonly rows: number;
  /** The rows whose points are in the ledger of their customer exactly once. */
  readonly once: number;
}

export const bulkGrantId = "spring-campaign";
const name = { programId, bulkGrantId };
const points = "50";
/** The wrong row has a letter where a digit should be. */
const mistyped = "5O";
/** For what does not depend on the number of rows. */
const patienceMs = 60_000;

/**
 * Submits the sheet with a wrong row and again without, has it approved and kills the worker when a
 * quarter of the rows are granted. `meanwhile` runs until Temporal misses the dead worker.
 */
export async function grantCampaign(
  stack: Embedded,
  userIds: readonly string[],
  say: (line: string) => void,
  meanwhile: (stack: Embedded) => Promise<void>,
): Promise<Granted> {
  const wrong = await submit(stack, userIds, mistyped);
  const { rows } = await stack.bulkGrants.listBulkGrantRows({ ...name, state: RowState.INVALID });
  const [problem] = rows.flatMap((row) => row.problems);
  say(`sheet of ${wrong.rowCount} rows refused, line ${problem?.line}: ${problem?.message}`);
  const { revision, rowCount, totalPoints, digest } = await submit(stack, userIds, points);
  say(`mended and sent again as revision ${revision}: ${rowCount} rows, ${totalPoints} points`);
  await stack.callAs("sales").bulkGrants.approveBulkGrant({ ...name, digest });
  say("approved by sales, by the digest of exactly these rows");

  await killWhileRunning(stack, userIds, say);
  await meanwhile(stack);
  await waitFor(stack, [State.DONE, State.DONE_WITH_FAILURES], rowCount);
  say("the new worker has granted the other rows");
  const times = await Promise.all(userIds.map((userId) => timesGranted(stack, userId)));
  return { rows: rowCount, once: times.filter((count) => count === 1).length };
}

/** Submits the sheet, with these points in its second row, and waits for its validation. */
async function submit(
  { bulkGrants, ...stack }: Embedded,
  userIds: readonly string[],
  second: string,
) {
  const lines = userIds.map((userId, i) => `${userId},${i === 1 ? second : points},spring`);
  const csv = Buffer.from(["user_id,points,reason", ...lines, ""].join("\n"));
  const title = "Spring campaign";
  await bulkGrants.submitBulkGrant({ ...name, title, content: { case: "csv", value: csv } });
  return await waitFor(
    { bulkGrants, ...stack },
    [State.INVALID, State.AWAITING_APPROVAL],
    lines.length,
  );
}

/** Kills the worker when about a quarter of the rows are granted, and starts another one. */
async function killWhileRunning(
  stack: Embedded,
  userIds: readonly string[],
  say: (line: string) => void,
): Promise<void> {
  const quarter = userIds[Math.floor(userIds.length / 4)] as string;
  const limit = limitFor(userIds.length);
  while ((await timesGranted(stack, quarter)) === 0) {
    if (Date.now() > limit) throw new Error(`the row of ${quarter} was not granted`);
    await sleep(50);
  }
  await stack.killWorker();
  const times = await Promise.all(userIds.map((userId) => timesGranted(stack, userId)));
  const granted = times.filter((count) => count > 0).length;
  say(`worker killed (SIGKILL) when ${granted} of ${userIds.length} rows were granted`);
  const pid = await stack.restartWorker();
  say(`worker started again, process id ${pid}; Temporal misses the dead one within 15 s`);
}

/** Until when so many rows are waited for: twice as long as they take at least. */
const limitFor = (rows: number): number =>
  Date.now() + patienceMs + (2 * rows * 1_000) / rowsPerSecond;

async function waitFor(
  { bulkGrants }: Pick<Embedded, "bulkGrants">,
  states: readonly State[],
  rows: number,
): Promise<BulkGrant> {
  const limit = limitFor(rows);
  for (;;) {
    const { bulkGrant } = await bulkGrants.getBulkGrant(name);
    if (bulkGrant && states.includes(bulkGrant.state)) return bulkGrant;
    if (Date.now() > limit) {
      const [state, ...wanted] = [bulkGrant?.state ?? State.UNSPECIFIED, ...states].map(
        (each) => StateSchema.value[each]?.localName,
      );
      throw new Error(`the campaign is ${state} and not ${wanted.join(" or ")}`);
    }
    await sleep(200);
  }
}

const timesGranted = (stack: Embedded, userId: string): Promise<number> =>
  timesInLedger(stack, userId, EventOrigin.BULK_GRANT);
