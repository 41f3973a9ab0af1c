/** The worker's interceptor of activities: a trace for each attempt. */
import type { ActivityInterceptorsFactory } from "@temporalio/worker";
import { runInSpan, startSpan } from "../platform/ports/tracing.ts";

/** Its attempts only wait: the grant after them is a trace of its own. */
const waiting = "grantWhenDue";

/** The run id leads to the run in Temporal. The workflow id may name people. */
export const traceActivities: ActivityInterceptorsFactory = ({ info }) => ({
  inbound: {
    execute(input, next) {
      const { activityType, attempt, workflowExecution } = info;
      if (activityType === waiting) return next(input);
      const runId = workflowExecution?.runId ?? "";
      const attributes = { "temporal.run_id": runId, "temporal.attempt": attempt };
      return runInSpan(startSpan(activityType, { attributes }), () => next(input));
    },
  },
});
