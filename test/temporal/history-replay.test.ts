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
import type { Deps } from "../../src/app/ports/deps.ts";
import { workflowTypes } from "../../src/contract/workflow-types.ts";
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
  readonly activityTaskCompletedEventAttributes?: { readonly scheduledEventId: unknown };
}

/** The activities of the histories of today, each with a history and its first answer there. */
function firstAnswers() {
  const firstAnswer = (json: Buffer, index: number) => {
    const history = readHistory(json);
    const [payload] = history.events[index].activityTaskCompletedEventAttributes.result.payloads;
    return { history, payload };
  };
  const found = new Map<string, ReturnType<typeof firstAnswer>>();
  for (const [, json] of ofToday()) {
    const { events } = readHistory(json);
    events.forEach((event: Event, index: number) => {
      const completed = event.activityTaskCompletedEventAttributes;
      if (!completed) return;
      const scheduled = events[Number(completed.scheduledEventId) - 1];
      const { name } = scheduled.activityTaskScheduledEventAttributes.activityType;
      if (!found.has(name)) found.set(name, firstAnswer(json, index));
    });
  }
  return found;
}

/** Activities without a recorded answer: the local one, and those of rare Updates and refusals. */
const unrecorded = [
  ...["cancelReservationRun", "grantNow", "rejectBulkGrant", "retryBulkGrant", "retryReservation"],
  "writeFailuresToSource",
];

test("no workflow uses an answer of any activity without its seal", async () => {
  const answers = firstAnswers();
  const activities = createActivities({ deps: {} as Deps, ...noObservers });
  expect([...answers.keys(), ...unrecorded].toSorted()).toEqual(Object.keys(activities).toSorted());
  for (const { payload } of answers.values()) {
    const { answer = null } = JSON.parse(Buffer.from(payload.data).toString());
    payload.data = Buffer.from(JSON.stringify(answer));
  }
  const histories = [...answers].map(([workflowId, { history }]) => ({ workflowId, history }));
  // Without another attempt, the report of a pick-up has failed, and the run ends the same way.
  const repeated = [...answers.keys()].filter((name) => name !== "reportPickUp");
  expect((await failures(histories)).toSorted()).toEqual(repeated.toSorted());
});
