/** Tests what a pass of the reconciler does beside the runs: purges, counts, and their failures. */
import { MockActivityEnvironment } from "@temporalio/testing";
import { DefaultLogger, type LogEntry } from "@temporalio/worker";
import { expect, test } from "vitest";
import { createActivities } from "../../../activities/index.ts";
import { deleteTarget, registerTarget } from "../../../src/feed/use-cases/reactions/targets.ts";
import type { WorkerDeps } from "../../../src/hub/deps.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { noObservers } from "../../support/fixtures/no-observers.ts";
import { recordWorkflows } from "../../support/servers/recording-workflows.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

const noRuns = {
  ...{ synced: 0, restarted: 0, terminated: 0, failed: 0 },
  ...{ behind: [], behind_count: 0 },
};

/** Runs the activity of a pass. Returns its counts and the warnings that it has logged. */
async function pass(deps: WorkerDeps) {
  const warnings: LogEntry[] = [];
  const logger = new DefaultLogger("WARN", (entry) => warnings.push(entry));
  const { syncRuns } = createActivities({ deps, ...noObservers });
  const environment = new MockActivityEnvironment({}, { logger });
  const counts = await environment.run(() => syncRuns({ since: "2026-01-01T00:00:00Z" }));
  return { counts, warnings: warnings.map(({ message }) => message) };
}

/** A server whose background tasks are lost has deleted a target, some time ago. */
async function setUp() {
  const { deps, clock } = memoryDeps();
  const workflows = recordWorkflows();
  const target = { type: "post", id: "dead" };
  await registerTarget(deps, { target, ownerId: "owner", title: "", link: "" });
  await deleteTarget({ ...deps, background: () => {} }, { target });
  clock.time += 11_000;
  return { deps: { ...deps, workflows }, workflows };
}

test("a pass starts a purge that never ran", async () => {
  const { deps, workflows } = await setUp();
  expect(await pass(deps)).toEqual({ counts: noRuns, warnings: [] });
  expect(workflows.calls).toEqual(["startPurge post dead of owner"]);
});

test("a pass that cannot list or start purges has its other counts", async () => {
  const { deps } = await setUp();
  const away = async () => {
    throw new DomainError("STORE_UNAVAILABLE", "no answer");
  };
  const unlisted = { ...deps, reader: { ...deps.reader, pendingPurges: away } };
  expect(await pass(unlisted)).toEqual({
    counts: noRuns,
    warnings: ["the purges of targets are left to the next pass"],
  });
  const unstarted = { ...deps, workflows: { ...deps.workflows, startPurge: away } };
  expect(await pass(unstarted)).toEqual({
    counts: noRuns,
    warnings: ["the purge of a target is left to the next pass"],
  });
});

/** A reader whose reads of programs are counted, and fail if it `fails`. */
function countingPrograms(deps: WorkerDeps, fails: boolean) {
  const count = { reads: 0 };
  const programs: WorkerDeps["reader"]["programs"] = async (page) => {
    count.reads += 1;
    if (fails) throw new DomainError("STORE_UNAVAILABLE", "no answer");
    return deps.reader.programs(page);
  };
  return { count, deps: { ...deps, reader: { ...deps.reader, programs } } };
}

test("a pass reads programs once, for what it counts by them", async () => {
  const { count, deps } = countingPrograms((await setUp()).deps, false);
  expect(await pass(deps)).toEqual({ counts: noRuns, warnings: [] });
  expect(count.reads).toBe(1);
});

test("a pass that cannot read programs to count by them has its other counts", async () => {
  const { deps } = countingPrograms((await setUp()).deps, true);
  const { behind, behind_count, ...counts } = noRuns;
  const warnings = ["programs could not be read"];
  expect(await pass(deps)).toEqual({ counts, warnings });
});
