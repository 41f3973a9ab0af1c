/** A client that behaves, beside the attackers: what it asks must succeed, and soon. */
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { startArrivals } from "../../../bench/support/arrivals.ts";
import { openChannel } from "../../../bench/support/rpc.ts";
import { Health } from "../../../src/gen/grpc/health/v1/health_pb.ts";
import { EventService } from "../../../src/gen/meguri/events/v1/event_service_pb.ts";
import { NotificationService } from "../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { PointsService } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import type { Ports } from "./target.ts";

/** What a while of good calls was like. */
export interface Experience {
  /** The latencies of the answered calls, in ms. */
  readonly latencies: readonly number[];
  /** What failed. */
  readonly failures: readonly string[];
}

export interface GoodClient {
  /**
   * Reads balances for a while at a fixed rate on one connection. Four times a second it checks the
   * server's health on a new connection, as a load balancer does, and opens a stream of counts and
   * one of events.
   */
  callFor(ms: number): Promise<Experience>;
  close(): void;
}

const callsPerSecond = 100;
const checksPerSecond = 4;
const deadlineMs = 10_000;

export function createGoodClient({ port }: Ports, token: string): GoodClient {
  const headers = { authorization: `Bearer ${token}` };
  const channel = openChannel(port, headers);
  const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` });
  const notifications = createClient(NotificationService, transport);
  const events = createClient(EventService, transport);

  async function checkHealth(): Promise<void> {
    const fresh = openChannel(port);
    try {
      await fresh.send(Health.method.check, {});
    } finally {
      fresh.close();
    }
  }

  async function watch(n: number): Promise<void> {
    const watches = [{ ownerId: `good-${n % 10}` }];
    const options = { headers, signal: AbortSignal.timeout(deadlineMs) };
    for await (const { content } of notifications.watchUnreadCounts({ watches }, options)) {
      if (content.case === "update") return;
      throw new Error(`the stream began with ${content.case}`);
    }
  }

  async function watchEvents(): Promise<void> {
    const options = { headers, signal: AbortSignal.timeout(deadlineMs) };
    for await (const { cursor } of events.watchEvents({}, options)) {
      if (cursor !== "") return;
      throw new Error("the stream began without a cursor");
    }
  }

  return {
    async callFor(ms) {
      const failures: string[] = [];
      const noted = (what: string, call: (n: number) => Promise<unknown>) => (n: number) =>
        call(n).catch((error: Error) => failures.push(`${what}: ${error.message}`));
      const read = (n: number) =>
        channel.send(PointsService.method.getBalance, { userId: `good-${n % 100}` });
      const balances = startArrivals(callsPerSecond, noted("balance", read));
      const others = [
        startArrivals(checksPerSecond, noted("health", checkHealth)),
        startArrivals(checksPerSecond, noted("watch", watch)),
        startArrivals(checksPerSecond, noted("events", watchEvents)),
      ];
      await sleep(ms);
      const [{ latencies }] = await Promise.all([balances.stop(), ...others.map((o) => o.stop())]);
      return { latencies, failures };
    },
    close: () => channel.close(),
  };
}
