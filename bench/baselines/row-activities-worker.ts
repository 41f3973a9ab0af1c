/** A baseline for bulk grants, the worker: its activity grants one row in the same transaction. */
import { NativeConnection, Worker } from "@temporalio/worker";
import type { Revision } from "../../src/bulk-grants/rules/bulk-grant.ts";
import { executeRow } from "../../src/bulk-grants/use-cases/execute-row.ts";
import type { Lease } from "../../src/bulk-grants/use-cases/run-lease.ts";
import { compose } from "../../src/compose.ts";
import { readConfig } from "../../src/platform/config/config.ts";
import { createLogger } from "../../src/platform/observe/log.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { noWorkflows } from "../../test/support/servers/no-workflows.ts";
import { bulkPoints, bulkReason } from "../support/bulk.ts";
import { userName } from "../support/calls.ts";

export type RowActivities = typeof activities;

const config = readConfig(process.env, "worker");
const log = createLogger("row-activities", config.logLevel);
const { deps } = compose(config, noWorkflows, log);
const bulkGrant = {
  programId: "default",
  bulkGrantId: "row-activities",
  // Of the revision, a row's transaction reads only the submitter.
  revision: { submitter: asService("bench") } as Revision,
};
const lease: Lease = { isHeld: true, decided: (send) => send() };

const activities = {
  async grantRow(user: number): Promise<void> {
    const row = { line: user, userId: userName(user), points: bulkPoints, reason: bulkReason };
    const outcome = await executeRow(deps, bulkGrant, row, lease, (_, error) => log.error(error));
    if (!outcome || "code" in outcome) throw new Error(outcome?.code);
  },
};

if (import.meta.main) {
  const worker = await Worker.create({
    connection: await NativeConnection.connect({ address: config.temporalAddress }),
    namespace: config.temporalNamespace,
    taskQueue: config.taskQueue,
    workflowsPath: `${import.meta.dirname}/row-activities.ts`,
    activities,
    activityTaskPollerBehavior: { type: "autoscaling", minimum: 2, initial: 5, maximum: 60 },
  });
  const running = worker.run();
  log.info({ taskQueue: config.taskQueue }, "ready");
  process.once("SIGTERM", () => worker.shutdown());
  await running;
  process.exit(0);
}
