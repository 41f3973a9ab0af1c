/**
 * Upgrades the previous version to this one under calls, and goes back: no call fails, and nothing
 * is lost, late or doubled. Then it upgrades again, and the events tell all that both versions have
 * stored. While the previous version has no events process, that of this one stops on the way back.
 */
import { join } from "node:path";
import { createMeguri, type Meguri } from "@meguri/client";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { defaultProgramId } from "../../src/platform/words/program-ids.ts";
import { reservationWorkflowId } from "../../src/reservations/contract/reservations.ts";
import { previousCommit } from "../../tools/dev/releases.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { checkEvents } from "../support/upgrade/events.ts";
import { type Fleet, startFleet } from "../support/upgrade/fleet.ts";
import { callLikes, checkLikes } from "../support/upgrade/likes.ts";
import { callPoints, checkPoints } from "../support/upgrade/points.ts";
import {
  callReservations,
  cancelReservation,
  checkGranted,
  checkReservations,
  createSleepers,
  hourMs,
  moveReservation,
  type Reserved,
} from "../support/upgrade/reservations.ts";
import { callSheets, checkSheets } from "../support/upgrade/sheets.ts";
import { checkOut, presentVersion, type Version } from "../support/upgrade/versions.ts";

/** As many servers, and as many workers. */
const processes = 2;
/** The sleepers: some wake under this version, some under the previous one again. */
const [first, second, cancelled] = [8, 16, 20];

const present = presentVersion(inject("workflowBundle"));
let previous: Version;
let remove: () => Promise<void>;
let fleet: Fleet;
beforeAll(async () => {
  ({ version: previous, remove } = await checkOut(previousCommit));
  fleet = await startFleet(previous, processes);
});
afterAll(async () => {
  await fleet?.stop();
  await remove?.();
});

const runOf = (i: number) => reservationWorkflowId(defaultProgramId, `sleeper-${i}`);

/** The builds whose workers have completed the tasks of a run, in their order. */
async function buildsOf(workflowId: string): Promise<string[]> {
  const { events } = await fleet.temporal.workflow.getHandle(workflowId).fetchHistory();
  const builds = (events ?? [])
    .map((event) => event.workflowTaskCompletedEventAttributes?.workerVersion?.buildId ?? "")
    .filter((build) => build !== "");
  return builds.filter((build, i) => build !== builds[i - 1]);
}

interface Clients {
  /** Clients of this version and of the previous one. */
  readonly both: readonly [Meguri, Meguri];
  /** A client that may approve what the other clients submit. */
  readonly approver: Meguri;
}

/** Clients of both versions call the same servers, since callers are upgraded when they want. */
async function connect(): Promise<Clients> {
  const old = (await import(join(previous.root, "packages/client/src/index.ts"))) as {
    readonly createMeguri: typeof createMeguri;
  };
  // Long enough for a machine that is busy with other tests.
  const options = { url: fleet.urls, timeoutMs: 60_000 };
  const callers = { ...options, caller: "tests" };
  return {
    both: [createMeguri(callers), old.createMeguri(callers)],
    approver: createMeguri({ ...options, caller: "approver" }),
  };
}

/** Calls all services until it is over, and returns what was acknowledged. */
function callAll({ both, approver }: Clients, onRunning: () => void, isOver: () => boolean) {
  const each = <T>(call: (client: Meguri, name: string, isOver: () => boolean) => Promise<T>) =>
    Promise.all(both.map((client, i) => call(client, `caller-${i}`, isOver)));
  return Promise.all([
    each(callPoints),
    each(callReservations),
    each(callLikes),
    callSheets(both[0], approver, onRunning, isOver),
  ]);
}

/** Upgrades, wakes some reservations that sleep, goes back, and wakes others. */
async function upgradeAndGoBack({ both: [client, oldClient] }: Clients, sleepers: Reserved[]) {
  await fleet.setUp(present);
  await fleet.replaceEvents(present);
  await fleet.replaceWorkers(present);
  await fleet.replaceServers(present);
  const woken = await Promise.all(
    sleepers.slice(0, first).map((sleeper) => moveReservation(oldClient, sleeper)),
  );
  await Promise.all(woken.map((each) => checkGranted(client, each)));
  // So that this version has worked on the runs that the previous one ends.
  await Promise.all(
    sleepers.slice(first, second).map((each) => moveReservation(oldClient, each, hourMs)),
  );
  await eventually(async () => expect(await buildsOf(runOf(first))).toContain("present"));

  await fleet.replaceServers(previous);
  await fleet.replaceWorkers(previous);
  await fleet.replaceEvents(previous);
  await fleet.setUp(previous);
  const later = await Promise.all([
    ...sleepers.slice(first, second).map((sleeper) => moveReservation(client, sleeper)),
    ...sleepers.slice(second).map((sleeper) => cancelReservation(oldClient, sleeper)),
  ]);
  await Promise.all(later.map((each) => checkGranted(client, each)));
  return [...woken, ...later];
}

test("all processes are replaced and come back, and no call fails", async () => {
  const clients = await connect();
  const [client] = clients.both;
  const sleepers = await createSleepers(client, cancelled);
  for (const i of [0, first]) {
    await eventually(async () => expect(await buildsOf(runOf(i))).toEqual(["previous"]));
  }
  let isOver = false;
  let onRunning = () => {};
  const running = new Promise<void>((resolve) => {
    onRunning = resolve;
  });
  const calls = callAll(clients, onRunning, () => isOver);
  // A call that fails may leave no sheet that runs.
  const upgrading = Promise.race([running, calls]).then(() => upgradeAndGoBack(clients, sleepers));
  try {
    await Promise.race([upgrading, calls]);
  } finally {
    isOver = true;
    await Promise.allSettled([upgrading, calls]);
  }
  const [changes, reserved, watched, sheets] = await calls;

  await checkPoints(client, changes.flat());
  await checkReservations(client, [...reserved.flat(), ...(await upgrading)]);
  await checkSheets(client, sheets);
  for (const each of watched) await checkLikes(client, each);
  // Runs went on with the other version, and came back.
  expect(await buildsOf(runOf(0))).toEqual(["previous", "present"]);
  expect(await buildsOf(runOf(first))).toEqual(["previous", "present", "previous"]);

  await fleet.setUp(present);
  await fleet.replaceEvents(present);
  await fleet.replaceServers(present);
  await checkEvents(client, fleet);
  for (const each of [...clients.both, clients.approver]) each.close();
});
