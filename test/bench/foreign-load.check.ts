/** Tests the share of the CPU time that others use, by recorded and by real files of /proc. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpus } from "node:os";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { cpuTimesOf, foreignShare } from "../../bench/report/foreign-load.ts";
import type { MeasuredResult } from "../../bench/report/stored.ts";
import { verdictOf } from "../../bench/report/verdict.ts";
import { projectRoot } from "../support/markdown.ts";

/** A line of /proc/PID/stat: its own times are 5 and 2 ticks, those of its children `ended`. */
const stat = (pid: number, parent: number, ended = 0, user = 5) =>
  `${pid} (node (a b) c) S ${parent} 1 1 0 -1 4194304 98 0 0 0 ${user} 2 ${ended} 0 20 0 1 0`;

/** /proc/stat: user, nice, system, idle, wait for I/O, interrupts, soft ones, stolen. */
const machine = (user: number, idle: number) =>
  `cpu  ${user} 10 20 ${idle} 40 3 4 5 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\nintr 1\n`;

describe("the times of the recorded files", () => {
  test("are those of a process, its descendants, and what they have waited for", () => {
    const processes = [
      stat(1, 0),
      stat(10, 1, 100),
      stat(11, 10),
      stat(12, 11, 1_000),
      stat(20, 1),
    ];
    expect(cpuTimesOf(machine(3_000, 900), processes, 10)).toEqual({
      total: 3_000 + 10 + 20 + 900 + 40 + 3 + 4 + 5,
      used: 3_000 + 10 + 20 + 5,
      own: 7 + 100 + 7 + 7 + 1_000,
    });
  });

  test("stay when a descendant ends and its parent has waited for it", () => {
    const before = cpuTimesOf(machine(0, 0), [stat(10, 1), stat(11, 10, 30)], 10);
    const after = cpuTimesOf(machine(0, 0), [stat(10, 1, 37), ""], 10);
    expect(after.own).toBe(before.own);
  });
});

test("the share is that of other processes, and of other machines", () => {
  const before = cpuTimesOf(machine(1_000, 1_000), [stat(10, 1), stat(20, 1)], 10);
  const after = cpuTimesOf(machine(1_150, 1_850), [stat(10, 1, 0, 105), stat(20, 1)], 10);
  expect(foreignShare(before, after)).toBe(0.05);
});

test("the share is not known without /proc, and never negative", () => {
  const times = { total: 100, used: 50, own: 40 };
  expect(foreignShare(undefined, times)).toBeUndefined();
  expect(foreignShare(times, times)).toBeUndefined();
  expect(foreignShare(times, { total: 200, used: 60, own: 55 })).toBe(0);
});

/** Runs a benchmark that computes for 0.3 s of CPU time in a process of its own. */
const tiny = `
import { measure } from "./bench/report/measure.ts";
const result = { name: "tiny", value: 1, unit: "", target: "<= 1", baseline: "" };
const benchmark = {
  names: ["tiny"],
  async run() {
    while (process.cpuUsage().user < 300_000);
    return [result, { ...result, name: "units", counted: true }];
  },
};
console.log(JSON.stringify(await measure(benchmark, { note() {} })));
`;

test.runIf(process.platform === "linux")(
  "a busy loop beside a benchmark makes it noisy",
  async () => {
    // On a machine with many processors one loop is less than the share.
    for (let i = 0; i < Math.ceil(cpus().length / 2); i++) {
      const loop = spawn(process.execPath, ["-e", "console.log(); for (;;);"]);
      onTestFinished(() => void loop.kill("SIGKILL"));
      await once(loop.stdout, "data");
    }
    const args = ["--input-type=module-typescript", "-e", tiny];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: projectRoot });
    const results: MeasuredResult[] = JSON.parse(stdout);
    expect(results.map(verdictOf)).toEqual(["noisy", "met"]);
    expect(results[0]?.foreignLoad).toBeLessThanOrEqual(1);
  },
);
