import type { Workflows } from "../app/ports/workflows.ts";
import { type PurgeTargetInput, purgeTargetId, workflowTypes } from "../contract.ts";
import type { Link } from "./connection.ts";
import { userKey } from "./search-attributes.ts";

type Port = Pick<Workflows, "startPurge">;

type Start = (input: PurgeTargetInput) => Promise<void>;

/** Starting the removal of what deleted targets have left. */
export function createPurges(link: Link): Port {
  const { client, taskQueue } = link;
  return {
    async startPurge({ type, id }, owner) {
      const summary = `remove reactions to and notifications of the deleted ${type} ${id}`;
      await link.call(() =>
        client.workflow.start<Start>(workflowTypes.removeTarget, {
          workflowId: purgeTargetId({ type, id }),
          taskQueue,
          args: [{ type, id, owner }],
          // A tombstone is for good, so a removal that runs does all that another one could.
          workflowIdConflictPolicy: "USE_EXISTING",
          workflowIdReusePolicy: "ALLOW_DUPLICATE",
          staticSummary: summary,
          staticDetails: `- target: ${type} ${id}\n- owner: ${owner}`,
          // Summaries and details end with a run that continues as new; a memo goes on.
          memo: { summary },
          typedSearchAttributes: [{ key: userKey, value: owner }],
        }),
      );
    },
  };
}
