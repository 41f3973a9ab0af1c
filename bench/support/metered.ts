/** A stack whose requests to the store are metered. */
import { tableDefinitions } from "../../src/ops/tables/definitions.ts";
import { tableName } from "../../src/platform/dynamodb/tables.ts";
import {
  type CapturedRequest,
  type DynamoProxy,
  startDynamoProxy,
} from "../../tools/dynamo-proxy/proxy.ts";
import { tableModel } from "../capacity.ts";
import { createMeter, type Usage } from "../meter.ts";
import { sum } from "./numbers.ts";
import { type Stack, withStack } from "./stack.ts";

/** The requests to the store during some work, and their cost. */
export interface Metered {
  readonly usage: Usage;
  readonly requests: number;
  /** The number of requests by operation. */
  readonly operations: Readonly<Record<string, number>>;
}

export interface MeteredStack extends Stack {
  readonly proxy: DynamoProxy;
  /**
   * Runs `work` and returns the cost of the requests that are counted. All writes of their items
   * have to pass the proxy from the first call on.
   */
  meter(
    work: () => Promise<unknown>,
    isCounted?: (captured: CapturedRequest) => boolean,
  ): Promise<Metered>;
}

/** The lease of the schedules, which a server writes every 10 s, belongs to no call. */
export const isNoLease = ({ request }: CapturedRequest): boolean =>
  !JSON.stringify(request).includes('"H#schedules"');

/**
 * Runs `use` with a stack whose processes reach the store through a proxy in this process, which
 * captures their requests. Benchmarks with it count requests and do not measure times.
 */
export function withMeteredStack<T>(
  use: (stack: MeteredStack) => Promise<T>,
  options: { temporal?: boolean } = {},
): Promise<T> {
  return withStack(options, async (stack) => {
    const proxy = await startDynamoProxy({ upstream: stack.dynamo.endpoint });
    const meter = createMeter(
      tableDefinitions(tableName(stack.config.tablePrefix)).map(tableModel),
    );
    try {
      return await use({
        ...stack,
        proxy,
        startServer: (given = {}) =>
          stack.startServer({ dynamoEndpoint: proxy.endpoint, ...given }),
        startWorker: (given = {}) =>
          stack.startWorker({ dynamoEndpoint: proxy.endpoint, ...given }),
        startEvents: (given = {}) =>
          stack.startEvents({ dynamoEndpoint: proxy.endpoint, ...given }),
        async meter(work, isCounted = () => true) {
          proxy.capture(true);
          await work();
          proxy.capture(false);
          const captured = proxy.captured().filter(isCounted);
          const operations: Record<string, number> = {};
          for (const { operation } of captured) {
            operations[operation] = (operations[operation] ?? 0) + 1;
          }
          const requests = sum(Object.values(operations));
          return { usage: meter.addAll(captured), requests, operations };
        },
      });
    } finally {
      await proxy.stop();
    }
  });
}
