/** Measures what the client package adds to connect-node's client. */
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { createMeguri } from "@meguri/client";
import { PointsService } from "../../src/gen/meguri/points/v1/points_service_pb.ts";
import type { Benchmark } from "../benchmark.ts";
import { userName } from "../support/calls.ts";
import { byTurns, load } from "../support/load.ts";
import { ratioByTurns } from "../support/numbers.ts";
import { withStack } from "../support/stack.ts";

const callers = 16;

/** GetBalance through the package, over the same with connect-node, each on one connection. */
export const clientOverhead: Benchmark = {
  names: ["client.overhead"],
  run: (scale) =>
    withStack({}, async (stack) => {
      const { port } = await stack.startServer();
      const baseUrl = `http://127.0.0.1:${port}`;
      const meguri = createMeguri({ url: baseUrl, caller: "bench" });
      const sessionManager = new Http2SessionManager(baseUrl);
      const bare = createClient(PointsService, createGrpcTransport({ baseUrl, sessionManager }));
      // What every caller has to send: its name and a deadline.
      const options = { headers: { "meguri-caller": "bench" }, timeoutMs: 10_000 };
      const both = { callers, warmMs: scale.pick(1_000, 300), ms: scale.pick(3_000, 1_000) };
      try {
        const { a, b } = await byTurns(
          scale.pick(6, 2),
          () => load({ ...both, call: (i) => meguri.points.getBalance({ userId: userName(i) }) }),
          () => load({ ...both, call: (i) => bare.getBalance({ userId: userName(i) }, options) }),
        );
        const rates = (loads: typeof a) => loads.map(({ rate }) => rate);
        const errors = [...a, ...b].map((one) => one.errors).join(" ");
        scale.note(
          `client ${rates(a).map(Math.round)}/s, bare ${rates(b).map(Math.round)}/s, ` +
            `errors ${errors}`,
        );
        return [
          {
            name: "client.overhead",
            ...ratioByTurns(rates(a), rates(b)),
            unit: "ratio of rates",
            target: ">= 0.95",
            baseline: "connect-node's gRPC client, with the same header and deadline",
          },
        ];
      } finally {
        meguri.close();
        sessionManager.abort();
      }
    }),
};
