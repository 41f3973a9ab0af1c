/**
 * One DynamoDB Local and one Temporal for the whole run, both in memory and on free ports. A test
 * file keeps to a table prefix and a task queue of its own.
 */
import type { TestProject } from "vitest/node";
import { startDynamoDbLocal } from "../../src/dev/stack/dynamodb-local.ts";
import { startTemporal } from "../../src/dev/stack/temporal-dev-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** How many histories and lives of the models are played through gRPC. */
    grpcRuns: number;
    /** `http://127.0.0.1:<port>` */
    dynamodbEndpoint: string;
    /** `host:port` */
    temporalAddress: string;
    temporalNamespace: string;
  }
}

/** Starts the servers, tells the tests where they are, and answers how to stop them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Not quick, and not part of what a test measures: both come up side by side.
  const starting = [startDynamoDbLocal(), startTemporal({ onProgress: console.error })] as const;
  const [dynamodb, temporal] = await Promise.all(starting).catch(async (error) => {
    for (const started of await Promise.allSettled(starting)) {
      if (started.status === "fulfilled") await started.value.stop();
    }
    throw error;
  });
  project.provide("dynamodbEndpoint", dynamodb.endpoint);
  project.provide("temporalAddress", temporal.address);
  project.provide("temporalNamespace", temporal.namespace);
  return async () => {
    await Promise.all([temporal.stop(), dynamodb.stop()]);
  };
}
