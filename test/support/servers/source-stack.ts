/** A worker stack with two sources of bulk grants, a folder and a Drive folder, and with Slack. */
import { enforceRules } from "../fixtures/bulk-rules.ts";
import { createSourceFolder, type SourceFolder } from "../fixtures/source-folder.ts";
import { type GoogleServer, startGoogleServer } from "./google-server.ts";
import type { Cell } from "./google-spreadsheet.ts";
import { type SlackServer, startSlackServer } from "./slack-server.ts";
import { startWorkerStack, type WorkerStack } from "./worker.ts";

export interface SourceStack {
  readonly stack: WorkerStack;
  readonly slack: SlackServer;
  readonly google: GoogleServer;
  /** The source `nightly`. */
  readonly folder: SourceFolder;
  /** The id of the folder of the source `campaigns`. */
  readonly driveFolder: string;
  stop(): Promise<void>;
}

export async function startSourceStack(): Promise<SourceStack> {
  const google = await startGoogleServer();
  const slack = await startSlackServer();
  const driveFolder = google.drive.addFolder("campaigns");
  const { keyFile: key_file, endpoint } = google;
  const campaigns = {
    ...{ name: "campaigns", identity: "campaigns", type: "drive" },
    ...{ folder_id: driveFolder, key_file, endpoint, programs: ["sheets"] },
  };
  const folder = await createSourceFolder([campaigns]);
  const stack = await startWorkerStack({
    programId: folder.programId,
    env: {
      ...folder.env,
      MEGURI_SLACK_WEBHOOK_URL: slack.webhookUrl,
    },
  });
  return {
    ...{ stack, slack, google, folder, driveFolder },
    async stop() {
      await stack.stop();
      await folder.delete();
      await google.close();
      await slack.stop();
    },
  };
}

/** Lets what the sources submit run without an approval. */
export const needNoApproval = ({ deps, programId }: WorkerStack) =>
  enforceRules(deps, programId, {
    ...{ maxPointsPerRow: 1_000, maxTotalPoints: 10_000, requiredApprovalCount: 0 },
    sources: ["campaigns", "nightly"],
  });

/** The header of a sheet. */
export const columns = [["user_id", "points"]];

/** Adds a spreadsheet to the Drive folder. */
export const addSpreadsheet = (
  { google, driveFolder }: SourceStack,
  name: string,
  rows: readonly (readonly Cell[])[],
) => google.addSpreadsheet({ name, folderId: driveFolder, rows });

/** The address of a spreadsheet. */
export const urlOf = (id: string, rest = "?usp=drivesdk") =>
  `https://docs.google.com/spreadsheets/d/${id}/edit${rest}`;

/** Starts a pick-up of a source. */
export const pickUp = (stack: WorkerStack, workflowId: string, source_name = "nightly") =>
  stack.client.workflow.start("pickUpSheets", {
    workflowId,
    taskQueue: stack.config.taskQueue,
    args: [{ source_name, program_id: stack.programId }],
  });
