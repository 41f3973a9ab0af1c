/**
 * `npm run demo [-- FILE]`: plays a purchase log through gRPC on a stack of its own, kills the
 * worker while reserved grants are pending, verifies every ledger, and removes its data.
 */
import { once } from "node:events";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ProgramVerification_State } from "../gen/meguri/points/v1/program_verification_pb.ts";
import { type Embedded, startEmbedded } from "./demo/embedded.ts";
import { type MonthLine, playPurchases, programId } from "./demo/play.ts";
import { readPurchases } from "./demo/purchases.ts";
import { reserveAndKill } from "./demo/reserve.ts";

const defaultFile = `${import.meta.dirname}/../../examples/purchases.csv`;
const reserved = 20;

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
  say(`${purchases.length} purchases of ${userIds.length} customers in ${file}`);
  stack = await startEmbedded(say);

  head("month", "purchases", "granted", "used");
  const lines = await playPurchases(
    stack,
    purchases,
    ({ month, purchases: count, granted, used }) => console.log(cells(month, count, granted, used)),
  );
  const balances = await Promise.all(userIds.map((userId) => balanceOf(userId)));
  const held = balances.reduce((sum, balance) => sum + balance, 0);

  say("reserved grants");
  const landed = await reserveAndKill(stack, userIds.slice(0, reserved), say);
  const verified = await verify();
  report(lines, held);
  console.log(`
reserved grants that landed exactly once: ${landed.once} of ${landed.reserved}, \
the last ${(landed.maxLatenessMs / 1_000).toFixed(1)} s late (the worker was dead)
ledgers verified: ${verified.accounts} accounts, ${verified.entries} entries, \
${verified.wrong} wrong
Web UI: ${stack.uiUrl}   (${((performance.now() - started) / 1_000).toFixed(0)} s)`);
  if (landed.once !== landed.reserved || verified.wrong > 0) process.exitCode = 1;
  if (process.stdin.isTTY && process.exitCode === undefined) {
    console.log("\nThe Web UI shows the workflows; Enter ends the demo and removes its data.");
    await once(process.stdin, "data");
    process.stdin.pause();
  }
}

async function balanceOf(userId: string): Promise<number> {
  const { balance } = await running().points.getBalance({ programId, userId });
  return Number(balance?.availablePoints ?? 0n);
}

async function verify() {
  await running().points.verifyProgram({ programId });
  for (;;) {
    const { verification } = await running().points.getProgramVerification({ programId });
    if (verification?.state === ProgramVerification_State.DONE) {
      const { accountCount: accounts, entryCount } = verification;
      return { accounts, entries: entryCount, wrong: Number(verification.wrongAccountCount) };
    }
    if (verification?.state === ProgramVerification_State.FAILED) throw new Error("verify failed");
    await sleep(200);
  }
}

/** Prints the points of each month, and checks that granted − used − expired = held. */
function report(lines: readonly MonthLine[], held: number): void {
  head("month", "granted", "used", "expired");
  for (const { month, granted, used, expired } of lines) {
    console.log(cells(month, granted, used, expired));
  }
  const sum = (of: (line: MonthLine) => number) =>
    lines.reduce((total, line) => total + of(line), 0);
  const [granted, used, expired] = [
    sum((line) => line.granted),
    sum((line) => line.used),
    sum((line) => line.expired),
  ];
  console.log(cells("all", granted, used, expired));
  console.log(`\ngranted ${granted} − used ${used} − expired ${expired} = held ${held}`);
  if (granted - used - expired !== held) {
    console.log("THE BALANCES DO NOT ADD UP");
    process.exitCode = 1;
  }
}

function running(): Embedded {
  if (!stack) throw new Error("the stack does not run");
  return stack;
}

function head(...names: string[]): void {
  console.log(`\n${cells(...names)}`);
}

function cells(...values: (string | number)[]): string {
  return values.map((value) => String(value).padStart(12)).join("");
}

function say(line: string): void {
  console.log(`· ${line}`);
}
