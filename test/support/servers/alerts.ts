/** A server and a worker under a real Prometheus, which evaluates the expressions of the alerts. */
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { parse } from "yaml";
import type { Child } from "../../../tools/dev/stack/child.ts";
import { findPorts } from "../../../tools/dev/stack/free-port.ts";
import { eventually } from "../fixtures/waiting.ts";
import { projectRoot } from "../markdown.ts";
import { isLong } from "../soak.ts";
import { startPrometheus } from "./prometheus.ts";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy.ts";
import { startWorkerStack, type WorkerStack, type WorkerStackOptions } from "./worker.ts";

/**
 * The expressions of the alerts, by name. How long they have to be true is tested by promtool. In
 * the short form their windows, and limits of one minute or more, are a third of what they say,
 * because tests wait until they have passed.
 */
export const expressions: Readonly<Record<string, string>> = Object.fromEntries(
  parse(readFileSync(`${projectRoot}deploy/prometheus/rules.yml`, "utf8")).groups.flatMap(
    ({ rules }: { rules: { alert?: string; expr: string }[] }) =>
      rules.flatMap(({ alert, expr }) => (alert ? [[alert, isLong ? expr : aThird(expr)]] : [])),
  ),
);

function aThird(expression: string): string {
  return expression
    .replaceAll(/(?<=\[|offset )(\d+)([smh])\b/g, (_, time, unit) => {
      const seconds = { s: 1, m: 60, h: 3_600 }[unit as "s" | "m" | "h"];
      return `${(Number(time) * seconds) / 3}s`;
    })
    .replaceAll(/(?<=> )(60|90)\b/g, (limit) => String(Number(limit) / 3));
}

export interface AlertStack {
  readonly stack: WorkerStack;
  readonly server: Child;
  readonly worker: Child;
  readonly http1Port: number;
  /** Between the worker and Temporal. */
  readonly temporal: TcpProxy;
  /** Waits until an alert is true, or no longer: the windows of its expression have to pass. */
  becomes(alert: string, isTrue: boolean, meanwhile?: () => void): Promise<void>;
  /** How many series an expression has now. */
  count(expression: string): Promise<number>;
  stop(): Promise<void>;
}

/** Starts the processes, after `prepare` has changed the store. */
export async function startAlertStack(
  options: Omit<WorkerStackOptions, "worker"> = {},
  prepare: (stack: WorkerStack) => Promise<void> = async () => {},
): Promise<AlertStack> {
  const stack = await startWorkerStack({ store: "proxied dynamodb", ...options, worker: false });
  await prepare(stack);
  const [port, http1Port, operatorsPort, metricsPort] = await findPorts(0, 0, 0, 0);
  const server = await stack.startServerProcess({
    MEGURI_PORT: String(port),
    MEGURI_HTTP1_PORT: String(http1Port),
    MEGURI_OPERATORS_PORT: String(operatorsPort),
  });
  const temporal = await startTcpProxy(Number(stack.config.temporalAddress.split(":")[1]));
  const worker = await stack.startWorkerProcess({
    MEGURI_METRICS_PORT: String(metricsPort),
    MEGURI_TEMPORAL_ADDRESS: `127.0.0.1:${temporal.port}`,
  });
  const prometheus = await startPrometheus({
    "meguri-server": operatorsPort,
    "meguri-worker": metricsPort,
  });
  return {
    stack,
    server,
    worker,
    http1Port,
    temporal,
    becomes: (alert, isTrue, meanwhile = () => {}) =>
      eventually(async () => {
        meanwhile();
        const count = await prometheus.count(expressions[alert] ?? "");
        expect(count > 0, `${alert} is true`).toBe(isTrue);
      }, 300_000),
    count: prometheus.count,
    async stop() {
      await prometheus.stop();
      await worker.stop();
      await server.stop();
      await temporal.stop();
      await stack.stop();
    },
  };
}
