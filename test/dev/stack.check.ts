/** Tests how the stack starts processes, and that one folder has one stack at a time. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startDynamoDbLocal } from "../../src/dev/stack/dynamodb-local.ts";
import { lock } from "../../src/dev/stack/lock.ts";
import { nodeFlags } from "../../src/dev/stack/service.ts";

const root = `${import.meta.dirname}/../..`;

test("DynamoDB Local listens on loopback only, and says why it has ended", async () => {
  const local = await startDynamoDbLocal();
  const others = Object.values(networkInterfaces())
    .flatMap((addresses = []) => addresses)
    .filter(({ family, internal }) => family === "IPv4" && !internal);
  for (const { address } of others) {
    await expect(fetch(`http://${address}:${local.port}`)).rejects.toThrow();
  }
  await local.killHard();
  expect(await local.exited).toMatch(/^SIGKILL\n[\s\S]*Initializing DynamoDB Local/);
});

test("DynamoDB Local does not start on a port on which another server answers", async () => {
  const other = createServer((_, response) => response.end()).listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  await expect(startDynamoDbLocal({ port })).rejects.toThrow("Address already in use");
  other.close();
});

test("processes get the flags of their npm scripts", () => {
  expect(nodeFlags("src/worker.ts")).toContain("--max-semi-space-size=2");
  expect(nodeFlags("src/ops/setup.ts")).toEqual([]);
});

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-dev-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe("a lock", () => {
  test("is held by one process, and is free again when it is released", async () => {
    const path = join(folder, "lock.sock");
    const release = await lock(path, "here");
    await expect(lock(path, "there")).rejects.toThrow("already running at here");
    release();
    expect(await readdir(folder)).toEqual([]);
    (await lock(path, "there"))();
  });

  test("whose process was killed is taken over", async () => {
    const path = join(folder, "lock.sock");
    const hold = `import { lock } from ${JSON.stringify(`${root}/src/dev/stack/lock.ts`)};
      await lock(${JSON.stringify(path)}, "here"); console.log("held");`;
    const holder = spawn(process.execPath, ["--input-type=module", "--eval", hold]);
    await once(holder.stdout, "data");
    await expect(lock(path, "there")).rejects.toThrow("already running at here");
    holder.kill("SIGKILL");
    await once(holder, "exit");
    expect(await readdir(folder)).toEqual(["lock.sock"]);
    (await lock(path, "there"))();
  });
});
