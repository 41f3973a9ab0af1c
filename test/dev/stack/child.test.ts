/** Tests what is said of a process that does not become ready. */
import { spawn } from "node:child_process";
import { expect, test, vi } from "vitest";
import { adopt, waitUntilReady } from "../../../tools/dev/stack/child.ts";
import { eventually } from "../../support/fixtures/waiting.ts";

/** Runs a shell script as a child named Store. */
const run = (script: string) =>
  adopt(spawn("sh", ["-c", script], { detached: true }), { name: "Store" });

const never = async () => false;

test("a process that hangs is stopped, and its exit code is not the reason", async () => {
  const child = await run("trap 'exit 143' TERM; echo starting; while :; do sleep 0.01; done");
  await eventually(async () => expect(child.lastOutput()).toBe("starting"));
  const waiting = waitUntilReady(child, never, { sayEveryMs: 1_000, giveUpMs: 0 });
  await expect(waiting).rejects.toThrow("Store did not start (not ready after 0 s)\nstarting");
  expect(await child.exited).toBe("exit code 143");
});

test("while a process lives, stderr says what is waited for", async () => {
  const say = vi.spyOn(console, "error").mockImplementation(() => {});
  const child = await run("echo compiling; exec sleep 1000");
  const isSaid = async () => say.mock.calls.length >= 2 && child.lastOutput() !== "";
  await waitUntilReady(child, isSaid, { sayEveryMs: 20, giveUpMs: 240_000 });
  await child.stop();
  expect(say.mock.calls[0]?.[0]).toMatch(/^still waiting for Store \(0\.02 s\): /);
  expect(say.mock.calls[1]?.[0]).toMatch(/^still waiting for Store \(0\.04 s\): /);
  say.mockRestore();
});

test("a process that ends has not started, though another one answers for it", async () => {
  const child = await run("echo 'address in use'; exit 3");
  await child.exited;
  const waiting = waitUntilReady(child, async () => true);
  await expect(waiting).rejects.toThrow("Store did not start (exit code 3)\naddress in use");
});
