/** Measures grants on one account by many callers of one process. */
import type { Benchmark, Scale } from "../benchmark.ts";
import { grant, userName } from "../support/calls.ts";
import { byTurns, load } from "../support/load.ts";
import { ratioByTurns, type Turns } from "../support/numbers.ts";
import { startLockingProxy } from "../support/proxy.ts";
import { type ProcessOptions, type Stack, withStack } from "../support/stack.ts";

const callers = 64;

/** AWS documents no duration: a transaction that locks its items for longer favours coalescing. */
const lockedMs = 2;

const entry = "bench/baselines/plain-server.ts";

/** Grants on one account, over one transaction for each grant through the same RPC path. */
export const grantHot: Benchmark = {
  names: ["grant.hot"],
  run: (scale) =>
    withStack({}, async (stack) => [
      {
        name: "grant.hot",
        ...(await ratio(stack, scale, {}, {})),
        unit: "ratio of rates",
        target: ">= 3",
        baseline: "plain-server: a transaction for each grant, without a version",
      },
    ]),
};

/**
 * The same through the proxy that locks the items of transactions. The baseline sends the
 * transactions of the account one after another, as fast as it can: it meets no lock.
 */
export const grantHotLocked: Benchmark = {
  names: ["grant.hot.locked"],
  run: (scale) =>
    withStack({}, async (stack) => {
      const proxy = await startLockingProxy(stack.dynamo.endpoint, lockedMs);
      try {
        const { endpoint: dynamoEndpoint } = proxy;
        return [
          {
            name: "grant.hot.locked",
            ...(await ratio(stack, scale, { dynamoEndpoint }, { BENCH_QUEUE: "1" })),
            unit: `ratio of rates, items locked for ${lockedMs} ms`,
            target: ">= 4",
            baseline: "plain-server: a transaction each, the calls of one account in turn",
          },
        ];
      } finally {
        await proxy.stop();
      }
    }),
};

async function ratio(
  stack: Stack,
  scale: Scale,
  options: ProcessOptions,
  env: Readonly<Record<string, string>>,
): Promise<Turns> {
  const ours = await stack.startServer(options);
  const plain = await stack.startServer({ ...options, entry, env });
  const [userId, plainUser] = [userName(1), userName(2)];
  // The baseline updates an account in place, so the account has to exist.
  await grant(ours.channel, plainUser);
  const times = { callers, warmMs: scale.pick(1_000, 500), ms: scale.pick(3_000, 1_000) };
  const loads = (rounds: number) =>
    byTurns(
      rounds,
      () => load({ ...times, call: () => grant(ours.channel, userId) }),
      () => load({ ...times, call: () => grant(plain.channel, plainUser) }),
    );
  // The first seconds are not measured, because the emulator's compiler is still at work.
  await loads(scale.pick(2, 0));
  const { a, b } = await loads(scale.pick(5, 1));
  const rates = (loads: typeof a) => loads.map(({ rate }) => rate);
  const errors = [...a, ...b].map((one) => one.errors).join(" ");
  scale.note(
    `ours ${rates(a).map(Math.round)}/s, plain ${rates(b).map(Math.round)}/s, errors ${errors}`,
  );
  return ratioByTurns(rates(a), rates(b));
}
