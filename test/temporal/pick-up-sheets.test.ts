/** Tests which files a pick-up takes and how it ends, with activities on a list of files. */
import type { WorkflowFailedError } from "@temporalio/client";
import { ApplicationFailure } from "@temporalio/common";
import { NativeConnection, Worker } from "@temporalio/worker";
import { afterAll, beforeAll, expect, test } from "vitest";
import type {
  MoveFileInput,
  NewFiles,
  NewFilesInput,
  PickUpSheetInput,
} from "../../src/contract/sheet-sources.ts";
import { startWorkerStack, type WorkerStack, workflowBundle } from "../support/servers/worker.ts";

let stack: WorkerStack;
let connection: NativeConnection;
beforeAll(async () => {
  stack = await startWorkerStack({ worker: false });
  connection = await NativeConnection.connect({ address: stack.config.temporalAddress });
});
afterAll(async () => {
  await connection.close();
  await stack.stop();
});

const pageSize = 3;

/**
 * Picks up a source of these files, by pages of three. Files in `unmovable` stay where they are.
 * Returns how the run has ended, its files that were submitted, and those that are left.
 */
async function pickUp(files: readonly string[], unmovable: readonly string[]) {
  const left = [...files];
  const submitted: string[] = [];
  const taskQueue = `pick-up-${files.length}-${unmovable.length}`;
  const worker = await Worker.create({
    connection,
    namespace: stack.config.temporalNamespace,
    taskQueue,
    workflowBundle: workflowBundle(),
    activities: {
      async listNewFiles({ cursor = "0" }: NewFilesInput): Promise<NewFiles> {
        const end = Number(cursor) + pageSize;
        const page = left.slice(Number(cursor), end);
        const next = end < left.length ? { cursor: String(end) } : {};
        return { files: page.map((source) => ({ source, bulk_grant_id: source })), ...next };
      },
      async pickUpSheet({ program_id, bulk_grant_id }: PickUpSheetInput) {
        if (bulk_grant_id.startsWith("gone")) return null;
        if (bulk_grant_id.startsWith("broken")) throw ApplicationFailure.retryable("no answer");
        if (bulk_grant_id.startsWith("refused")) {
          throw ApplicationFailure.nonRetryable("an unknown column", "INVALID_REQUEST");
        }
        submitted.push(bulk_grant_id);
        return { program_id, bulk_grant_id };
      },
      advanceBulkGrant: async () => ({ state: "AWAITING_APPROVAL" }),
      async moveFile({ source }: MoveFileInput) {
        if (unmovable.includes(source)) throw ApplicationFailure.nonRetryable("read-only");
        left.splice(left.indexOf(source), 1);
      },
    },
  });
  const end = await worker.runUntil(
    stack.client.workflow
      .execute("pickUpSheets", {
        workflowId: taskQueue,
        taskQueue,
        args: [{ source_name: "nightly", program_id: "p" }],
      })
      .catch((error: WorkflowFailedError) => error.cause),
  );
  return { end, submitted: submitted.toSorted(), left };
}

const names = (count: number) => Array.from({ length: count }, (_, i) => `${10 + i}.csv`);

test("files that cannot be moved hide no other file, and the run fails", async () => {
  const files = names(8);
  const stuck = [...files.slice(0, 4), "refused.csv"];
  const { end, submitted, left } = await pickUp([...files, "refused.csv"], stuck);
  expect(submitted).toEqual(files);
  expect(left).toEqual(stuck);
  expect(end).toMatchObject({ type: "PICK_UP_INCOMPLETE" });
  const [counts, ...lines] = (end as ApplicationFailure).message.split("\n");
  expect(counts).toBe("8 files submitted, 1 failed, 5 left.");
  expect(lines.filter(Boolean).toSorted()).toEqual([
    ...files.slice(0, 4).map((file) => `- ${file}: NOT_MOVED`),
    "- refused.csv: INVALID_REQUEST (an unknown column)",
    "- refused.csv: NOT_MOVED",
  ]);
});

test("moves that shift the pages hide no file", async () => {
  const files = names(10);
  const { end, submitted, left } = await pickUp(files, []);
  expect(submitted).toEqual(files);
  expect(left).toEqual([]);
  expect(end).toMatchObject({ failed: [], left: [] });
});

test("a file that is gone is taken once, although it is still listed", async () => {
  const { end, submitted, left } = await pickUp(["10.csv", "gone.csv"], []);
  expect(submitted).toEqual(["10.csv"]);
  expect(left).toEqual(["gone.csv"]);
  expect(end).toMatchObject({ submitted: ["10.csv"], failed: [], left: [] });
});
