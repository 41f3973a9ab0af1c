/** Measures what becomes of more grants than a worker completes at once. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@temporalio/client";
import { reservationWorkflowId } from "../../src/contract/reservations.ts";
import { defaultProgramId } from "../../src/domain/program.ts";
import { latenessOf } from "../../src/domain/reservation.ts";
import type { Version } from "../../test/support/upgrade/versions.ts";
import type { Benchmark, Scale } from "../benchmark.ts";
import { type Reserved, reserve, userName } from "../support/calls.ts";
import { byTurns, inParallel } from "../support/load.ts";
import { mean, ofTurns, percentile, ratioByTurns, round } from "../support/numbers.ts";
import { allDone } from "../support/reservations.ts";
import { previousVersion, type ServerProcess, type Stack, withStack } from "../support/stack.ts";
import { withTemporalClient } from "../support/temporal-client.ts";

/** A burst that a worker completes at once. */
const fewCount = 20;

/** The attempts of a grant, and how late the last one is, of many that are due at one instant. */
export const reservationSlowWorker: Benchmark = {
  names: ["reservation.burst_attempts", "reservation.burst_last"],
  run: (scale) =>
    withBursts(undefined, (present) =>
      withBursts(previousVersion(), async (previous) => {
        const few = await present(scale, "few", fewCount);
        await previous(scale, "few", fewCount);
        const count = scale.pick(2_000, 50);
        const { a, b } = await byTurns(
          scale.pick(2, 1),
          (turn) => present(scale, `many-${turn}`, count),
          (turn) => previous(scale, `many-${turn}`, count),
        );
        const lastMs = (bursts: readonly Burst[]) => bursts.map((burst) => burst.lastMs);
        return [
          {
            name: "reservation.burst_attempts",
            ...ofTurns(a.map(({ attempts }) => attempts / few.attempts)),
            unit: "ratio of attempts a grant",
            target: "<= 1.05",
            baseline: `${fewCount} due at once`,
          },
          {
            name: "reservation.burst_last",
            ...ratioByTurns(lastMs(a), lastMs(b)),
            unit: "ratio of times until the last is granted",
            target: "<= 0.5",
            baseline: "the previous version",
          },
        ];
      }),
    ),
};

interface Burst {
  /** Of a grant, on average, with the one that Temporal delays until the lead. */
  readonly attempts: number;
  readonly lastMs: number;
}

type RunBurst = (scale: Scale, name: string, count: number) => Promise<Burst>;

/** Runs `use` with a stack of a version that has one worker. */
async function withBursts<T>(
  version: Promise<Version> | undefined,
  use: (run: RunBurst) => Promise<T>,
): Promise<T> {
  const processes = { ...(version && { version: await version }) };
  return withStack({ temporal: true }, async (stack) => {
    const server = await stack.startServer(processes);
    await stack.startWorker(processes);
    const label = version ? "previous" : "present";
    return withTemporalClient(stack, (client) =>
      use((scale, name, count) =>
        runBurst(stack, { server, client }, scale, { name: `${label}-${name}`, count }),
      ),
    );
  });
}

async function runBurst(
  stack: Stack,
  { server, client }: { readonly server: ServerProcess; readonly client: Client },
  scale: Scale,
  { name, count }: { readonly name: string; readonly count: number },
): Promise<Burst> {
  // Time enough to reserve all of them.
  const executeTime = Date.now() + 12_000 + count * 20;
  const burst: Reserved[] = Array.from({ length: count }, (_, i) => ({
    id: `${name}-${i}`,
    userId: `${name}-${userName(i)}`,
    executeTime,
  }));
  await inParallel(16, burst, (one) => reserve(server.channel, one));
  if (Date.now() > executeTime) scale.note("the burst was due before all of it was reserved");
  // Polling for results would slow the measured grants down.
  await sleep(executeTime + 5_000 + count * 5 - Date.now());
  const ids = burst.map(({ id }) => id);
  const late = (await allDone(stack, ids, 120_000)).map(latenessOf);
  const sample = ids.filter((_, i) => i % Math.ceil(count / 200) === 0);
  const attempts: number[] = [];
  await inParallel(8, sample, async (id) => attempts.push(await attemptsOf(client, id)));
  scale.note(
    `${name}: ${[0.1, 0.5, 0.9, 1].map((at) => percentile(late, at))} ms late (p10 to last), ` +
      `${round(mean(attempts))} attempts, at most ${Math.max(...attempts)}`,
  );
  return { attempts: mean(attempts), lastMs: Math.max(...late) };
}

/** The attempts of all activities of a run. */
async function attemptsOf(client: Client, reservationId: string): Promise<number> {
  const handle = client.workflow.getHandle(reservationWorkflowId(defaultProgramId, reservationId));
  await handle.result();
  const { events } = await handle.fetchHistory();
  let attempts = 0;
  for (const { activityTaskStartedEventAttributes: started } of events ?? []) {
    attempts += started?.attempt ?? 0;
  }
  return attempts;
}
