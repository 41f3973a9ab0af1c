/** Measures what the verification of tokens costs: calls with a token and calls without. */
import {
  audience,
  claimsOf,
  createSigningKey,
  issuerName,
  signToken,
  startIssuer,
} from "../../test/support/servers/issuer.ts";
import type { Benchmark } from "../benchmark.ts";
import { balance, userName } from "../support/calls.ts";
import { byTurns, load } from "../support/load.ts";
import { median, round } from "../support/numbers.ts";
import { type Channel, openChannel } from "../support/rpc.ts";
import { withStack } from "../support/stack.ts";

const callers = 16;

/** Calls/s of GetBalance on a server that verifies tokens, over one that verifies nobody. */
export const authOverhead: Benchmark = {
  names: ["auth.overhead"],
  run: (scale) =>
    withStack({}, async (stack) => {
      const key = await createSigningKey("bench", "RS256");
      const issuer = await startIssuer([key]);
      const open = await stack.startServer();
      const verifying = await stack.startServer({
        env: {
          MEGURI_AUTH: "jwt",
          MEGURI_JWKS_URL: issuer.jwksUrl,
          MEGURI_JWT_ISSUER: issuerName,
          MEGURI_JWT_AUDIENCE: audience,
        },
      });
      const exp = Math.floor(Date.now() / 1_000) + 3_600;
      const token = await signToken(key, claimsOf({ exp, scope: "points.read points.grant" }));
      const channel = openChannel(verifying.port, { authorization: `Bearer ${token}` });
      const measure = async (used: Channel) => {
        const times = { warmMs: scale.pick(1_000, 300), ms: scale.pick(4_000, 1_000) };
        const call = (i: number) => balance(used, userName(i));
        const { rate, errors, error } = await load({ callers, ...times, call });
        if (errors > 0) throw error;
        return rate;
      };
      const turns = await byTurns(
        scale.pick(6, 2),
        () => measure(channel),
        () => measure(open.channel),
      );
      channel.close();
      await issuer.stop();
      const rates = (all: readonly number[]) => all.map((rate) => rate.toFixed(0)).join(" ");
      scale.note(`balance: with a token ${rates(turns.a)}/s, without ${rates(turns.b)}/s`);
      const value = median(turns.a.map((rate, i) => rate / (turns.b[i] ?? Number.NaN)));
      return [
        {
          name: "auth.overhead",
          value: round(value),
          unit: "ratio of rates",
          target: ">= 0.9",
          baseline: "the same server without authentication",
        },
      ];
    }),
};
