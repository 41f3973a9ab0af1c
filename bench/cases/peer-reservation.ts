/** Compares reservations with jobs of pg-boss that grant in a Postgres ledger. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Benchmark } from "../benchmark.ts";
import { reserve } from "../support/calls.ts";
import { cpuSeconds, cpuSecondsWithChildren } from "../support/cpu.ts";
import { grantDue, limitMs, temporalWay, type Way } from "../support/due.ts";
import { byTurns } from "../support/load.ts";
import { percentile, ratioByTurns, type Turns } from "../support/numbers.ts";
import { type Peer, withPeer } from "../support/peers.ts";
import { withStack } from "../support/stack.ts";

const perSecond = 5;

/** The lateness of reservations one after another; the last of a burst, and its CPU time. */
export const peerReservation: Benchmark = {
  names: ["lateness", "burst", "cpu"].map((end) => `peers.reservation.pg_boss.${end}`),
  peers: true,
  run: (scale) =>
    withStack({ temporal: true }, (stack) =>
      withStack({}, (peerStack) =>
        withPeer(peerStack, async (peer) => {
          const ours = await temporalWay(stack);
          const theirs = await pgBossWay(peer);
          const spread = (way: Way, name: string) => {
            const count = perSecond * scale.pick(15, 3);
            return grantDue(way, scale, { name, count, apartMs: 1_000 / perSecond });
          };
          const burst = (way: Way, name: string) =>
            grantDue(way, scale, { name, count: scale.pick(500, 20), apartMs: 0 });
          await burst(ours, "ours-warm");
          await burst(theirs, "peer-warm");
          const late = await byTurns(
            scale.pick(2, 1),
            (turn) => spread(ours, `ours-spread-${turn}`),
            (turn) => spread(theirs, `peer-spread-${turn}`),
          );
          const bursts = await byTurns(
            scale.pick(2, 1),
            (turn) => burst(ours, `ours-${turn}`),
            (turn) => burst(theirs, `peer-${turn}`),
          );
          type One = (typeof late.a)[number];
          const ratio = ({ a, b }: typeof late, of: (one: One) => number) =>
            ratioByTurns(a.map(of), b.map(of));
          const result = (end: string, measured: Turns, unit: string) => ({
            name: `peers.reservation.pg_boss.${end}`,
            ...{ ...measured, unit, target: "" },
            baseline: "peer: pg-boss, polling every 0.5 s, batches of 64 in a Postgres ledger",
          });
          return [
            result(
              "lateness",
              ratio(late, (one) => percentile(one.late, 0.99)),
              "ratio of the p99 of lateness",
            ),
            result(
              "burst",
              ratio(bursts, (one) => Math.max(...one.late)),
              "ratio of times until the last is granted",
            ),
            result(
              "cpu",
              ratio(bursts, (one) => one.cpuMs),
              "ratio of the CPU time a reservation of worker and Temporal over worker and Postgres",
            ),
          ];
        }),
      ),
    ),
};

/** A server that reserves and a worker that grants, with one database. */
async function pgBossWay(peer: Peer): Promise<Way> {
  const { channel } = await peer.startServer();
  const worker = await peer.startWorker();
  return {
    reserve: (one) => reserve(channel, one),
    async lateness(ids) {
      const limit = performance.now() + limitMs;
      for (;;) {
        const { rows } = await peer.pool.query<{ ms: number }>(
          `SELECT (extract(epoch FROM grant_time - execute_time) * 1000)::float8 AS ms
           FROM reservations WHERE reservation_id = ANY($1) AND grant_time IS NOT NULL`,
          [ids],
        );
        if (rows.length === ids.length) return rows.map(({ ms }) => ms);
        const text = `granted ${rows.length} of ${ids.length} in time`;
        if (performance.now() > limit) throw new Error(text);
        await sleep(500);
      }
    },
    cpuSeconds: async () =>
      (await cpuSeconds(worker.pid)) + (await cpuSecondsWithChildren(peer.postgresPid)),
  };
}
