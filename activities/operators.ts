/** Who acts by Temporal: by an Update of a workflow, or by starting a run. */
import { activityInfo, getClient } from "@temporalio/activity";
import { defaultPayloadConverter } from "@temporalio/common";
import type { Audit } from "../src/platform/words/audit.ts";
import type { Caller } from "../src/platform/words/caller.ts";
import { withoutControls } from "../src/platform/words/controls.ts";
import { cutToBytes } from "../src/platform/words/display-text.ts";

const service = "temporal";

/**
 * The caller of an Update. The service is always "temporal", because Meguri does not verify the
 * name that an Update claims. That name is the subject; "temporal" when the operator gives none.
 */
export const fromTemporal = (name: string | undefined): Caller => ({
  service,
  subject: name || service,
});

/** Who makes a change by Temporal, for its act: the method is the one that does the same. */
export function auditOf(caller: Caller, method: string): Audit {
  const { workflowExecution, activityId } = activityInfo();
  const requestId = `${workflowExecution?.runId ?? ""}/${activityId}`;
  return { caller, via: "TEMPORAL", method, requestId };
}

/** The most bytes that the subject of a caller has. */
const maxSubjectBytes = 128;

/**
 * Who started the run of this activity: the name that its input claims, or else its schedule, or
 * else the identity of the client, which only the first event of the history has. Temporal verifies
 * none of them.
 */
export async function starterOfRun(name: string | undefined): Promise<Caller> {
  const started = name ? undefined : await firstEvent();
  const scheduleId = started?.searchAttributes?.indexedFields?.TemporalScheduledById;
  const found = scheduleId
    ? `schedule/${defaultPayloadConverter.fromPayload<string>(scheduleId)}`
    : (started?.identity ?? "");
  return fromTemporal(name || cutToBytes(withoutControls(found), maxSubjectBytes));
}

async function firstEvent() {
  const { workflowExecution: execution = null, namespace } = activityInfo();
  const request = { namespace, execution, maximumPageSize: 1 };
  const { workflowService } = getClient();
  const { history } = await workflowService.getWorkflowExecutionHistory(request);
  return history?.events?.[0]?.workflowExecutionStartedEventAttributes;
}
