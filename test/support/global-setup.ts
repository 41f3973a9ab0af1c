/**
 * Starts one DynamoDB Local and one Temporal for the whole run, both in memory and on free ports.
 * Each test file has its own table prefix and task queue.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { bundleWorkflows } from "../../src/worker/bundle.ts";
import {
  SHORT_RUN_JAVA_OPTIONS,
  startDynamoDbLocal,
} from "../../tools/dev/stack/dynamodb-local.ts";
import { startTemporal } from "../../tools/dev/stack/temporal-dev-server.ts";
import { deniedIn, guardedBy } from "./deploy/guarded.ts";
import { sayOnce } from "./say-once.ts";
import { findGrpcurl } from "./servers/grpcurl.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Whether workflows and activities wait for a shorter time than in production. */
    hasShortWaits: boolean;
    /** How servers and workers send requests to DynamoDB. */
    dynamoTransport: "thin" | "sdk";
    /** `http://127.0.0.1:<port>` */
    dynamodbEndpoint: string;
    /** `host:port` */
    temporalAddress: string;
    temporalNamespace: string;
    /** The file with the bundle of the workflows. */
    workflowBundle: string;
  }
}

/**
 * One partition for each task queue. Of several, a worker with few polls may leave one without a
 * poll, and a task in it waits for seconds.
 */
const onePartition = {
  "matching.numTaskqueueReadPartitions": "1",
  "matching.numTaskqueueWritePartitions": "1",
};

/** Starts the servers, provides their addresses to the tests, and returns how to stop them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Every DynamoDB Local inherits it.
  process.env.JAVA_TOOL_OPTIONS ??= SHORT_RUN_JAVA_OPTIONS;
  const folder = await mkdtemp(join(tmpdir(), "meguri-test-"));
  const denied = join(folder, "denied");
  Object.assign(process.env, guardedBy(denied));
  // Every process of the run compiles the same modules.
  process.env.NODE_COMPILE_CACHE ??= join(folder, "compiled");
  process.env.TEST_SAID_LINES = folder;
  // Before the tests, because a build with Go beside them would slow them down for minutes.
  await findGrpcurl();
  // Side by side, because each of them takes seconds.
  const starting = [
    startDynamoDbLocal({ onProgress: sayOnce }),
    startTemporal({ onProgress: sayOnce, dynamicConfig: onePartition }),
  ] as const;
  const shorter = `${import.meta.dirname}/workflows.ts`;
  const { hasShortWaits } = project.getProvidedContext();
  const bundling = writeBundle(folder, hasShortWaits ? shorter : undefined);
  const all = Promise.all([...starting, bundling]);
  const [dynamodb, temporal, workflowBundle] = await all.catch(async (error) => {
    for (const started of await Promise.allSettled(starting)) {
      if (started.status === "fulfilled") await started.value.stop();
    }
    throw error;
  });
  project.provide("dynamodbEndpoint", dynamodb.endpoint);
  project.provide("temporalAddress", temporal.address);
  project.provide("temporalNamespace", temporal.namespace);
  project.provide("workflowBundle", workflowBundle);
  return async () => {
    await Promise.all([temporal.stop(), dynamodb.stop()]);
    const violations = deniedIn(denied);
    // Processes that end may still write what they have compiled.
    await rm(folder, { recursive: true, maxRetries: 20 });
    if (violations.length > 0) {
      const lines = violations.join("\n");
      throw new Error(`deploy/policies do not allow what processes use:\n${lines}`);
    }
  };
}

/** Bundles the workflows once for all test files, and returns the file of the bundle. */
async function writeBundle(folder: string, entry?: string): Promise<string> {
  const file = join(folder, "workflows.js");
  const { code } = await bundleWorkflows(entry);
  await writeFile(file, process.env.TEST_SOURCE_MAPS ? code : withoutPositions(code));
  return file;
}

/**
 * The bundle with an empty source map, which the SDK demands. Each worker would parse the whole one
 * for the stack of its first promise, which takes more CPU time than most tests have workflows do.
 */
function withoutPositions(code: string): string {
  const start = code.lastIndexOf("//# sourceMappingURL=data:");
  if (start < 0) throw new Error("the bundle of the workflows has no source map");
  const map = JSON.stringify({ version: 3, sources: [], names: [], mappings: "" });
  const url = `data:application/json;base64,${Buffer.from(map).toString("base64")}`;
  return `${code.slice(0, start)}//# sourceMappingURL=${url}`;
}
