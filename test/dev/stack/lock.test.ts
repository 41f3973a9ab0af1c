/** Tests the lock by which one folder has one stack, or one download, at a time. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Locked, lock } from "../../../tools/dev/stack/lock.ts";

const root = `${import.meta.dirname}/../../..`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-lock-"));
});
afterEach(() => rm(folder, { recursive: true }));

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
    const hold = `import { lock } from ${JSON.stringify(`${root}/tools/dev/stack/lock.ts`)};
      await lock(${JSON.stringify(path)}, "here"); console.log("held");`;
    const holder = spawn(process.execPath, ["--input-type=module", "--eval", hold]);
    await once(holder.stdout, "data");
    await expect(lock(path, "there")).rejects.toThrow("already running at here");
    holder.kill("SIGKILL");
    await once(holder, "exit");
    expect(await readdir(folder)).toEqual(["lock.sock"]);
    (await lock(path, "there"))();
  });

  test("is taken or refused at whichever step its holder releases it", async () => {
    const path = join(folder, "lock.sock");
    for (let steps = 0; steps < 30; steps += 1) {
      const release = await lock(path, "here");
      const second = lock(path, "there").catch((error) => error);
      for (let step = 0; step < steps; step += 1) await new Promise(process.nextTick);
      release();
      const taken = await second;
      if (taken instanceof Locked) continue;
      expect(taken).toBeTypeOf("function");
      taken();
    }
  });
});
