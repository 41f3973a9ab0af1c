/**
 * The interceptor of all workflows that verifies what their activities answer: operators can
 * complete an activity by hand, with any answer.
 */
import { ActivityFailure, defaultPayloadConverter, RetryState } from "@temporalio/common";
import {
  type ActivityFunction,
  type ActivityInput,
  log,
  proxyActivities,
  type WorkflowInterceptors,
  workflowInfo,
} from "@temporalio/workflow";
import { activityKeyHeader, foreignAnswer, isSealed } from "../src/platform/contract/answers.ts";
import { refuse } from "./failures.ts";

/** The bundle of the workflows has this factory. Local activities cannot be completed by hand. */
export const interceptors = (): WorkflowInterceptors => ({
  outbound: [
    {
      async scheduleActivity(input, next) {
        const key = keyOf(input);
        const headers = { [activityKeyHeader]: defaultPayloadConverter.toPayload(key) };
        const result = await next({ ...input, headers: { ...input.headers, ...headers } });
        return isSealed(key, result) ? result.answer : scheduleAgain(input);
      },
    },
  ],
});

/** Names one activity of one run, which has one input. It is the same after a reset. */
const keyOf = ({ seq, activityType }: ActivityInput): string =>
  `${workflowInfo().originalExecutionRunId}/${seq}/${activityType}`;

/** Schedules an activity again, with an attempt less. Throws when it has no more of them. */
function scheduleAgain({ seq, activityType, args, options }: ActivityInput): Promise<unknown> {
  const message = `${activityType} has an answer that no worker gave`;
  log.warn(message, { activityType, activityId: String(seq) });
  const { retry } = options;
  const attempts = retry?.maximumAttempts;
  if (attempts === 1) {
    const cause = refuse(message, foreignAnswer);
    const state = RetryState.NON_RETRYABLE_FAILURE;
    throw new ActivityFailure(message, activityType, String(seq), state, undefined, cause);
  }
  const fewer = attempts && { retry: { ...retry, maximumAttempts: attempts - 1 } };
  const again = proxyActivities<Record<string, ActivityFunction>>({ ...options, ...fewer });
  return (again[activityType] as ActivityFunction)(...args);
}
