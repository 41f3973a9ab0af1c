/** The worker's interceptor of activities that seals what they answer. */
import { defaultPayloadConverter } from "@temporalio/common";
import type { ActivityInterceptorsFactory } from "@temporalio/worker";
import { activityKeyHeader, sealed } from "../platform/contract/answers.ts";

/** A local activity has no key: its answer comes with the workflow task of its worker. */
export const sealAnswers: ActivityInterceptorsFactory = () => ({
  inbound: {
    async execute(input, next) {
      const answer = await next(input);
      const key = input.headers[activityKeyHeader];
      return key ? sealed(defaultPayloadConverter.fromPayload(key), answer) : answer;
    },
  },
});
