/**
 * Fails a test file that leaves something to the next file of its process: faked time, changed
 * variables of the environment, servers or child processes. What can be restored is restored.
 */
import { afterAll, expect, vi } from "vitest";
import { eventually } from "./fixtures/waiting.ts";

const env = { ...process.env };
const before = countResources();

afterAll(async () => {
  const fakeTime = vi.isFakeTimers();
  const variables = changedVariables();
  vi.useRealTimers();
  for (const name of variables) delete process.env[name];
  Object.assign(process.env, env);
  const nothing = { fakeTime: false, variables: [], ...before };
  // Waits, because Node closes the handle of a process or a server after it has reported its end.
  await eventually(async () => {
    const left = { fakeTime, variables, ...countResources() };
    expect(left, "what this test file has left behind").toEqual(nothing);
  }, 30_000);
});

/** The names of the variables that differ from those before the file; values may be secret. */
function changedVariables(): string[] {
  const names = new Set([...Object.keys(env), ...Object.keys(process.env)]);
  return [...names].filter((name) => process.env[name] !== env[name]);
}

/** What keeps this process alive: servers that listen, and child processes. */
function countResources(): { readonly servers: number; readonly children: number } {
  const names = process.getActiveResourcesInfo();
  const count = (wanted: string) => names.filter((name) => name === wanted).length;
  return { servers: count("TCPServerWrap"), children: count("ProcessWrap") };
}
