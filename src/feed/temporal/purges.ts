/** Starts the workflows that purge deleted targets. */

import { workflowTypes } from "../../platform/contract/workflow-types.ts";
import type { Link } from "../../platform/temporal/connection.ts";
import { userKey } from "../../platform/temporal/search-attributes.ts";
import { escapeMarkdown } from "../../platform/words/markdown.ts";
import { type PurgeTargetInput, purgeHowToEnd, purgeTargetId } from "../contract/purges.ts";
import type { Workflows } from "../ports/deps.ts";

type Port = Pick<Workflows, "startPurge">;

type Start = (input: PurgeTargetInput) => Promise<void>;

export function createPurges(link: Link): Port {
  const { client, taskQueue } = link;
  return {
    async startPurge({ type, id }, ownerId) {
      const summary = `purge reactions to the deleted ${type} ${id}`;
      await link.call(() =>
        client.workflow.start<Start>(workflowTypes.purgeTarget, {
          workflowId: purgeTargetId({ type, id }),
          taskQueue,
          args: [{ type, id, owner_id: ownerId }],
          // A deleted target never changes, so a running purge does all that another one could.
          workflowIdConflictPolicy: "USE_EXISTING",
          workflowIdReusePolicy: "ALLOW_DUPLICATE",
          staticSummary: escapeMarkdown(summary),
          staticDetails:
            `${purgeHowToEnd}\n\n` +
            `- target: ${escapeMarkdown(`${type} ${id}`)}\n` +
            `- owner: ${escapeMarkdown(ownerId)}`,
          // A run that continues as new loses its summary and details, but keeps its memo.
          memo: { summary },
          typedSearchAttributes: [{ key: userKey, value: ownerId }],
        }),
      );
    },
  };
}
