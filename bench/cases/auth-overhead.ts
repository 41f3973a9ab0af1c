/** Measures what the verification of tokens costs: calls with a token and calls without. */
import {
  claimsOf,
  createSigningKey,
  jwtVariables,
  signToken,
  startIssuer,
} from "../../test/support/servers/issuer.ts";
import type { Benchmark } from "../benchmark.ts";
import { balance, userName } from "../support/calls.ts";
import { loadWithCpu } from "../support/cpu.ts";
import { byTurns } from "../support/load.ts";
import { ratioByTurns } from "../support/numbers.ts";
import { type Channel, openChannel } from "../support/rpc.ts";
import { type ServerProcess, withStack } from "../support/stack.ts";

const callers = 16;

/** The rate and the CPU time of GetBalance with a token, over those without authentication. */
export const authOverhead: Benchmark = {
  names: ["auth.overhead", "auth.overhead.cpu"],
  run: (scale) =>
    withStack({}, async (stack) => {
      const key = await createSigningKey("bench", "RS256");
      const issuer = await startIssuer([key]);
      const open = await stack.startServer();
      const verifying = await stack.startServer({
        env: jwtVariables(issuer),
      });
      const exp = Math.floor(Date.now() / 1_000) + 3_600;
      const token = await signToken(key, claimsOf({ exp, scope: "points.read points.grant" }));
      const channel = openChannel(verifying.port, { authorization: `Bearer ${token}` });
      const measure = ({ pid }: ServerProcess, used: Channel) => {
        const times = { warmMs: scale.pick(1_000, 300), ms: scale.pick(3_000, 1_000) };
        const call = (i: number) => balance(used, userName(i));
        return loadWithCpu(pid, { callers, ...times, call });
      };
      const turns = await byTurns(
        scale.pick(5, 2),
        () => measure(verifying, channel),
        () => measure(open, open.channel),
      );
      channel.close();
      await issuer.stop();
      const rates = (all: typeof turns.a) => all.map(({ rate }) => rate);
      const cpu = (all: typeof turns.a) => all.map((one) => one.cpu * 1e6);
      const format = (all: typeof turns.a) =>
        `${rates(all).map(Math.round)}/s, ${cpu(all).map(Math.round)} µs`;
      scale.note(`with a token ${format(turns.a)}; without ${format(turns.b)}`);
      const baseline = "the same server without authentication";
      return [
        {
          name: "auth.overhead",
          ...ratioByTurns(rates(turns.a), rates(turns.b)),
          unit: "ratio of rates, which the emulator bounds",
          target: "",
          baseline,
        },
        {
          name: "auth.overhead.cpu",
          ...ratioByTurns(cpu(turns.a), cpu(turns.b)),
          unit: "ratio of the server's CPU a call",
          target: "<= 1.1",
          baseline,
        },
      ];
    }),
};
