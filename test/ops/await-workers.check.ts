/** Tests what a server waits for before it starts: workers of its own build alone. */
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { awaitWorkers, buildsOf } from "../../src/ops/await-workers.ts";
import type { Child } from "../../tools/dev/stack/child.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

/**
 * Waits with these answers of Temporal, one every 10 s by a clock of its own. The last one is
 * repeated. Returns what it logs, and how often it asked.
 */
async function waitWith(
  answers: readonly (readonly string[][] | undefined)[],
  patienceMs = 60_000,
) {
  const lines: [message: string, otherBuilds: readonly string[]][] = [];
  const write = (fields: { otherBuilds?: string[] }, text: string) => {
    lines.push([text, fields.otherBuilds ?? []]);
  };
  let asked = 0;
  const now = vi.spyOn(performance, "now").mockImplementation(() => asked * 10_000);
  onTestFinished(() => now.mockRestore());
  const readBuilds = async () => {
    const answer = answers[Math.min(asked++, answers.length - 1)];
    return answer?.map((builds) => new Set(builds));
  };
  const log = { info: write, warn: write } as unknown as Parameters<typeof awaitWorkers>[0]["log"];
  await awaitWorkers({ readBuilds, buildId: "b", log, patienceMs, pauseMs: 1 });
  return { lines, asked };
}

const waiting = (...otherBuilds: string[]) => ["waiting for the workers", otherBuilds];
const found = ["workers of this build poll", []];
const withoutThem = ["no worker of this build was found; going on without", []];

test("an older worker is waited for, however long, also beside one of this build", async () => {
  const old = Array(50).fill([["a"], ["a"], ["a"]]);
  const both = [["a", "b"], ["b"], ["b"]];
  const own = [["b"], ["b"], ["b"]];
  expect(await waitWith([...old, both, own], 0)).toEqual({
    lines: [waiting("a"), found],
    asked: 52,
  });
});

test("one missing answer beside an older worker does not end a long wait", async () => {
  const old = Array(50).fill([["a"], ["a"], ["a"]]);
  const own = [["b"], ["b"], ["b"]];
  for (const missing of [undefined, [[], [], []]]) {
    const { lines } = await waitWith([...old, missing, own]);
    expect(lines).toEqual([waiting("a"), waiting(), found]);
  }
});

test("it waits until this build polls for every kind of task", async () => {
  const some = [["b"], ["b"], []];
  expect(await waitWith([some, [["b"], ["b"], ["b"]]])).toEqual({
    lines: [waiting(), found],
    asked: 2,
  });
});

test.each([
  ["no worker polls", [[], [], []]],
  ["Temporal gives no answer", undefined],
])("while %s it waits only so long", async (_, answer) => {
  const lines = [waiting(), withoutThem];
  expect(await waitWith([answer])).toEqual({ lines, asked: 6 });
});

let stack: WorkerStack;
let worker: Child | undefined;
beforeAll(async () => {
  stack = await startWorkerStack({ store: "dynamodb", worker: false });
});
afterAll(async () => {
  await worker?.stop();
  await stack?.stop();
});

test("Temporal says which builds poll each task queue", async () => {
  expect(await buildsOf(stack.workflows.link)).toEqual(Array(4).fill(new Set()));
  worker = await stack.startWorkerProcess({ MEGURI_BUILD_ID: "build-7" });
  const own = new Set(["build-7"]);
  await eventually(async () => {
    expect(await buildsOf(stack.workflows.link)).toEqual(Array(4).fill(own));
  });
});
