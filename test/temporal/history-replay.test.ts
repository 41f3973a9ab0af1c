/**
 * Replays recorded histories on the current workflows, those of the previous version among them
 * (test/previous): a change that would break a run under way fails here. This command records the
 * histories of scenarios that have none; until 0.1.0 is released, delete the histories of a changed
 * workflow to record them again, and keep the old ones as the failure of this test says:
 *
 *     TEST_RECORD_HISTORIES=1 npm test -- test/temporal/history-replay.test.ts
 */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename } from "node:path";
import { Worker } from "@temporalio/worker";
import { beforeAll, expect, test } from "vitest";
import { createActivities } from "../../activities/index.ts";
import type { WorkerDeps } from "../../src/hub/deps.ts";
import { workflowTypes } from "../../src/platform/contract/workflow-types.ts";
import { noObservers } from "../support/fixtures/no-observers.ts";
import { historiesFolder, recordHistories } from "../support/fixtures/record-histories.ts";
import { previousFiles } from "../support/previous/files.ts";
import { workflowBundle } from "../support/servers/worker.ts";

const suffix = ".history.json";

/** All scenarios take some minutes, and longer on a busy machine. */
const recordingMs = 1_800_000;

beforeAll(async () => {
  if (process.env.TEST_RECORD_HISTORIES) await recordHistories();
}, recordingMs);

/**
 * Reads a JSON history with the copy of protobufjs that belongs to @temporalio/proto. The SDK uses
 * its own copy, which fails with "type must be a Type" when npm has installed two of them.
 */
function readHistory(json: string | Buffer) {
  const fromProto = createRequire(createRequire(import.meta.url).resolve("@temporalio/proto"));
  const { fromJson } = fromProto("protobufjs/ext/protojson");
  const { patchProtobufRoot } = fromProto("@temporalio/proto/lib/patch-protobuf-root");
  const type = patchProtobufRoot(fromProto("@temporalio/proto")).lookupType(
    "temporal.api.history.v1.History",
  );
  return fromJson(type, JSON.parse(String(json)), { ignoreUnknownFields: true });
}

const ofToday = () =>
  readdirSync(historiesFolder)
    .filter((file) => file.endsWith(suffix))
    .map((file) => [file, readFileSync(`${historiesFolder}/${file}`)] as const);

/** The histories of the previous version that are not among those of today. */
function ofPreviousVersion() {
  const today = new Map(ofToday());
  return [...previousFiles().files]
    .map(([path, json]) => [basename(path), json] as const)
    .filter(([file, json]) => file.endsWith(suffix) && !today.get(file)?.equals(json))
    .map(([file, json]) => [`previous ${file}`, json] as const);
}

const recorded = () =>
  [...ofToday(), ...ofPreviousVersion()].map(([file, json]) => ({
    workflowId: file.replace(suffix, ""),
    history: readHistory(json),
  }));

/** The names of the histories that do not replay. */
async function failures(histories = recorded()): Promise<string[]> {
  const failed: string[] = [];
  const results = Worker.runReplayHistories({ workflowBundle: workflowBundle() }, histories);
  for await (const { workflowId, error } of results) if (error) failed.push(workflowId);
  return failed;
}

test("every workflow has a recorded history", () => {
  const types = recorded().map(
    ({ history }) => history.events[0].workflowExecutionStartedEventAttributes.workflowType.name,
  );
  expect(new Set(types)).toEqual(new Set(Object.values(workflowTypes)));
});

test("recorded histories replay", async () => {
  expect(await failures()).toEqual([]);
});

test("histories whose first activity has another name fail", async () => {
  const reservations = recorded().filter(({ workflowId }) => workflowId.startsWith("reservation"));
  for (const { history } of reservations) {
    const scheduled = history.events.find(
      (event: { activityTaskScheduledEventAttributes?: object }) =>
        event.activityTaskScheduledEventAttributes,
    );
    scheduled.activityTaskScheduledEventAttributes.activityType.name = "another";
  }
  const names = reservations.map(({ workflowId }) => workflowId);
  expect(names).not.toEqual([]);
  expect(await failures(reservations)).toEqual(names);
});

interface Event {
  readonly activityTaskCompletedEventAttributes?: {
    readonly scheduledEventId: unknown;
    readonly result: { readonly payloads: readonly [{ data: Uint8Array }] };
  };
}

/** The answers of a history, as their payloads, by the activity. */
function answersOf({ events }: ReturnType<typeof readHistory>) {
  const completed = events.flatMap(
    ({ activityTaskCompletedEventAttributes: attributes }: Event) => attributes ?? [],
  ) as NonNullable<Event["activityTaskCompletedEventAttributes"]>[];
  return Map.groupBy(completed, ({ scheduledEventId }): string => {
    const { activityTaskScheduledEventAttributes } = events[Number(scheduledEventId) - 1];
    return activityTaskScheduledEventAttributes.activityType.name;
  });
}

/** A history of each activity, in which none of its answers has a seal any more. */
function unsealedHistories(): Map<string, ReturnType<typeof readHistory>> {
  const found = new Map<string, ReturnType<typeof readHistory>>();
  for (const [file, json] of ofToday()) {
    for (const name of answersOf(readHistory(json)).keys()) {
      if (found.has(name)) continue;
      const history = readHistory(json);
      for (const { result } of answersOf(history).get(name) ?? []) {
        const { answer = null, seal } = JSON.parse(Buffer.from(result.payloads[0].data).toString());
        expect(seal, `the seal of ${name} in ${file}`).toMatch(/^[0-9a-f]{16}$/);
        result.payloads[0].data = Buffer.from(JSON.stringify(answer));
      }
      found.set(name, history);
    }
  }
  return found;
}

/**
 * Activities without a recorded answer: the local one, those of rare Updates and refusals, and that
 * of an export with files that continues as new.
 */
const unrecorded = [
  ...["cancelReservationRun", "grantNow", "rejectBulkGrant", "retryBulkGrant", "retryReservation"],
  ...["storeFileList", "writeFailuresToSource"],
];

test("no workflow uses an answer of any activity without its seal", async () => {
  const unsealed = unsealedHistories();
  const activities = createActivities({ deps: {} as WorkerDeps, ...noObservers });
  const known = [...unsealed.keys(), ...unrecorded].toSorted();
  expect(known).toEqual(Object.keys(activities).toSorted());
  const histories = [...unsealed].map(([workflowId, history]) => ({ workflowId, history }));
  // Without another attempt, the report of a pick-up has failed, and the run ends the same way.
  const repeated = [...unsealed.keys()].filter((name) => name !== "reportPickUp");
  expect((await failures(histories)).toSorted()).toEqual(repeated.toSorted());
});
