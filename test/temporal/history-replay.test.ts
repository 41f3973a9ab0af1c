/**
 * Replays recorded histories on today's workflows: a change that would break a run under way fails
 * here and has to be made with `patched()`. Record the histories anew only when all old runs are
 * gone or a scenario is added:
 *
 *     MEGURI_RECORD_HISTORIES=1 npm test -- test/temporal/replay.test.ts
 */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { bundleWorkflowCode, DefaultLogger, Worker, type WorkflowBundle } from "@temporalio/worker";
import { beforeAll, expect, test } from "vitest";
import { workflowTypes } from "../../src/contract.ts";
import { historiesFolder, recordHistories } from "../support/fixtures/record-histories.ts";
import { workflowBundle } from "../support/servers/worker.ts";

const suffix = ".history.json";

beforeAll(async () => {
  if (process.env.MEGURI_RECORD_HISTORIES) await recordHistories();
}, 180_000);

/**
 * The SDK reads JSON histories with its own copy of protobufjs, and where npm has nested another
 * copy below @temporalio/proto, as here, that fails with "type must be a Type". So they are read
 * with the copy that belongs to the types.
 */
function readHistory(file: string) {
  const fromProto = createRequire(createRequire(import.meta.url).resolve("@temporalio/proto"));
  const { fromJson } = fromProto("protobufjs/ext/protojson");
  const { patchProtobufRoot } = fromProto("@temporalio/proto/lib/patch-protobuf-root");
  const type = patchProtobufRoot(fromProto("@temporalio/proto")).lookupType(
    "temporal.api.history.v1.History",
  );
  const json = JSON.parse(readFileSync(`${historiesFolder}/${file}`, "utf8"));
  return fromJson(type, json, { ignoreUnknownFields: true });
}

const recorded = () =>
  readdirSync(historiesFolder)
    .filter((file) => file.endsWith(suffix))
    .map((file) => ({
      workflowId: file.replace(suffix, ""),
      history: readHistory(file),
    }));

/** The names of the histories that do not replay. */
async function failures(bundle: WorkflowBundle, histories = recorded()): Promise<string[]> {
  const failed: string[] = [];
  const results = Worker.runReplayHistories({ workflowBundle: bundle }, histories);
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
  expect(await failures(await workflowBundle())).toEqual([]);
});

test("a workflow that was changed carelessly fails", async () => {
  const changed = await bundleWorkflowCode({
    workflowsPath: `${import.meta.dirname}/../support/fixtures/changed-workflows.ts`,
    logger: new DefaultLogger("ERROR"),
  });
  const reservations = recorded().filter(({ workflowId }) => workflowId.startsWith("reservation"));
  const names = reservations.map(({ workflowId }) => workflowId);
  expect(await failures(changed)).toEqual(names);
});
