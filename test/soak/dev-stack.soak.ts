/** Tests `npm run dev` from its start to its end, once in a folder, and after a kill. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually } from "../support/fixtures/waiting.ts";

const root = `${import.meta.dirname}/../..`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-dev-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

interface Dev {
  readonly process: ChildProcess;
  output(): string;
  /** Waits for the text. Throws all output when the process ends first. */
  says(text: string): Promise<void>;
  /** Ends the process and returns its exit code. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Runs `npm run dev` with the test's folder as the project's root. */
async function runDev(logLevel: string): Promise<Dev> {
  const { TEMPORAL_ADDRESS: _, ...env } = process.env;
  const child = spawn(process.execPath, [`${root}/tools/dev/dev.ts`], {
    cwd: folder,
    env: {
      ...env,
      MEGURI_LOG_LEVEL: logLevel,
      MEGURI_DRAIN_SECONDS: "1",
      MEGURI_PORT: "0",
      MEGURI_HTTP1_PORT: "0",
      MEGURI_METRICS_PORT: "0",
      MEGURI_EVENTS_PORT: "0",
    },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (data) => {
      output += data;
    });
  }
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  return {
    process: child,
    output: () => output,
    async says(text) {
      while (!output.includes(text)) {
        if (hasEnded()) throw new Error(output);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    async end(signal) {
      if (!hasEnded()) {
        child.kill(signal);
        await once(child, "exit");
      }
      return child.exitCode;
    },
  };
}

/** Waits until no process of a stack listens on the ports that its output names. */
async function waitUntilGone({ output }: Dev): Promise<void> {
  const ports = [...output().matchAll(/127\.0\.0\.1:(\d+)/g)].map(([, port]) => Number(port));
  for (const port of new Set(ports)) {
    await eventually(async () => {
      const socket = connect(port, "127.0.0.1");
      const opened = await once(socket, "connect").then(
        () => true,
        () => false,
      );
      socket.destroy();
      expect(opened, `port ${port}`).toBe(false);
    });
  }
}

test("npm run dev starts at any log level, once in a folder, and after a kill", async () => {
  const started: Dev[] = [];
  const run = async (logLevel: string) => {
    const dev = await runDev(logLevel);
    started.push(dev);
    return dev;
  };
  try {
    const first = await run("silent");
    await first.says("all of it runs");
    const [, address] = /gRPC and Connect at (http:\S+),/.exec(first.output()) ?? [];
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);

    const second = await run("info");
    await once(second.process, "exit");
    expect(second.process.exitCode).toBe(1);
    expect(second.output()).toContain(`already running at ${address}`);
    expect(second.output()).not.toContain("DynamoDB Local at");

    await first.end("SIGKILL");
    await waitUntilGone(first);
    const third = await run("warn");
    await third.says("Temporal at");
    expect(await third.end("SIGINT")).toBe(0);
    expect(await readdir(join(folder, ".data"))).toEqual(["dynamodb", "temporal"]);
  } finally {
    for (const dev of started) {
      await dev.end("SIGTERM");
      await waitUntilGone(dev);
    }
  }
});
