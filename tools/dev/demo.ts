/**
 * `npm run demo [-- FILE]`: plays a purchase log through gRPC on a stack of its own, then reserved
 * grants and a campaign by a sheet, under each of which a worker is killed, and likes. Checks what
 * came of it, and that all of it was told as events, says what to look at in Temporal's Web UI, and
 * removes its data.
 */
import { once } from "node:events";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { bulkGrantWorkflowId } from "../../src/bulk-grants/contract/bulk-grants.ts";
import { ProgramJob_State } from "../../src/gen/meguri/points/v1/program_job_pb.ts";
import { jobWorkflowId } from "../../src/points/contract/jobs.ts";
import { verificationKind } from "../../src/points/contract/verifications.ts";
import { reservationWorkflowId } from "../../src/reservations/contract/reservations.ts";
import { bulkGrantId, grantCampaign } from "./demo/campaign.ts";
import { type Embedded, startEmbedded } from "./demo/embedded.ts";
import { followEntries } from "./demo/events.ts";
import { playLikes } from "./demo/likes.ts";
import { type MonthLine, monthEndRunId, playPurchases, programId } from "./demo/play.ts";
import { check, link, row, say, section } from "./demo/print.ts";
import { readPurchases } from "./demo/purchases.ts";
import { reservationIdOf, reserveAndKill } from "./demo/reserve.ts";

const defaultFile = `${import.meta.dirname}/../../examples/purchases.csv`;
const reserved = 20;

/** The verification of all ledgers at the end. */
const verification = { programId, jobId: "demo" };

const started = performance.now();
let stack: Embedded | undefined;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => void Promise.resolve(stack?.stop()).then(() => process.exit(130)));
}

try {
  await demo(resolve(process.argv[2] ?? defaultFile));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  await stack?.stop();
}

async function demo(file: string): Promise<void> {
  const purchases = readPurchases(file);
  const userIds = [...new Set(purchases.map(({ customer }) => customer))];
  section("A stack of its own");
  stack = await startEmbedded(say);

  section(`${purchases.length} purchases of ${userIds.length} customers, from ${file}`);
  row("month", "purchases", "granted", "used", "expired");
  const lines = await playPurchases(stack, purchases, showMonth);
  const total = addUp(lines);
  showMonth(total);
  const held = await heldBy(stack, userIds);

  section("Grants that are reserved for a moment");
  const landed = await reserveAndKill(stack, userIds.slice(0, reserved), say);

  section("A campaign by a sheet");
  let areBadgesRight = false;
  const campaign = await grantCampaign(stack, userIds, say, async (running) => {
    section("Likes and a badge, meanwhile");
    areBadgesRight = await playLikes(running, say);
    section("The campaign again");
  });
  const verified = await verify(stack);
  const told = await followEntries(stack, Number(verified.entries));

  const { granted, used, expired } = total;
  section(`Checked, after ${((performance.now() - started) / 1_000).toFixed(0)} s`);
  check(
    "points of the fourteen months",
    `granted ${granted} − used ${used} − expired ${expired} = held ${held}`,
    granted - used - expired === held,
  );
  check(
    "reserved grants",
    `${landed.once} of ${landed.reserved} landed exactly once, ` +
      `the last ${(landed.maxLatenessMs / 1_000).toFixed(1)} s late (the worker was dead)`,
    landed.once === landed.reserved,
  );
  check(
    "campaign",
    `${campaign.once} of ${campaign.rows} rows granted exactly once`,
    campaign.once === campaign.rows,
  );
  check("badges", "as the likes and the mark leave them", areBadgesRight);
  check(
    "ledgers",
    `${verified.accounts} accounts, ${verified.entries} entries, ${verified.wrong} wrong`,
    verified.wrong === 0,
  );
  check(
    "events",
    `${told} of ${verified.entries} entries have reached who follows them, each under one id`,
    BigInt(told) === verified.entries,
  );
  await showLinks(stack, userIds[0] as string);
  if (process.stdin.isTTY) {
    console.log("\nEnter ends the demo and removes its data.");
    await once(process.stdin, "data");
    process.stdin.pause();
  }
}

function showMonth({ month, purchases, granted, used, expired }: MonthLine): void {
  row(month, purchases, granted, used, expired);
}

function addUp(lines: readonly MonthLine[]): MonthLine {
  const total = { month: "all", purchases: 0, granted: 0, used: 0, expired: 0 };
  for (const line of lines) {
    total.purchases += line.purchases;
    total.granted += line.granted;
    total.used += line.used;
    total.expired += line.expired;
  }
  return total;
}

async function heldBy({ points }: Embedded, userIds: readonly string[]): Promise<number> {
  const balances = await Promise.all(
    userIds.map((userId) => points.getBalance({ programId, userId })),
  );
  return balances.reduce((sum, { balance }) => sum + Number(balance?.availablePoints ?? 0n), 0);
}

async function verify({ points }: Embedded) {
  await points.verifyProgram(verification);
  for (;;) {
    const { verification: found } = await points.getProgramVerification(verification);
    if (found?.job?.state === ProgramJob_State.DONE) {
      const { accountCount: accounts, entryCount: entries } = found;
      return { accounts, entries, wrong: Number(found.wrongAccountCount) };
    }
    if (found?.job?.state === ProgramJob_State.FAILED) throw new Error("verify failed");
    await sleep(200);
  }
}

/** Links to runs, each of which exists. */
async function showLinks({ temporal, uiUrl, linkTo }: Embedded, userId: string): Promise<void> {
  section("What to look at in Temporal's Web UI");
  link("all runs, with their summaries", uiUrl);
  const runs = {
    [reservationWorkflowId(programId, reservationIdOf(userId))]:
      "a reserved grant: its details say how late it was, and why",
    [bulkGrantWorkflowId(programId, bulkGrantId)]:
      "the campaign: its details, and the attempt that the killed worker has left",
    [monthEndRunId]: "the last month end: its result says what has expired",
    [jobWorkflowId({ ...verification, kind: verificationKind.name })]: "the check of all ledgers",
  };
  for (const [workflowId, what] of Object.entries(runs)) {
    await temporal.workflow.getHandle(workflowId).describe();
    link(what, linkTo(workflowId));
  }
}
