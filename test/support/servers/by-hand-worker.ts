/** A worker and an operator who completes the first activity of each type by hand. */
import { activityInfo } from "@temporalio/activity";
import { CompleteAsyncError } from "@temporalio/common";
import { NativeConnection, Worker } from "@temporalio/worker";
import { createActivities } from "../../../activities/index.ts";
import { bulkTaskQueue } from "../../../src/bulk-grants/contract/bulk-grants.ts";
import { monthEndTaskQueue } from "../../../src/points/contract/month-ends.ts";
import { sealAnswers } from "../../../src/worker/seal-answers.ts";
import { noObservers } from "../fixtures/no-observers.ts";
import { type WorkerStack, workflowBundle } from "./worker.ts";

/** What the operator answers to an activity, by its key. */
export type AnswerByHand = (key: string) => unknown;

/**
 * Which activities of a workflow an operator completes: the first one of each type, of which the
 * attempt does nothing or goes on, or every one.
 */
type How = "once" | "beside the attempt" | "always";

/** What an operator answers in a workflow, and to which types of activities it was done. */
interface Hand {
  readonly by: AnswerByHand;
  readonly how: How;
  readonly done: Set<string>;
}

export interface ByHandWorker {
  /** From now on, completes activities of a workflow with this answer; `once` when left out. */
  answer(workflowId: string, by: AnswerByHand, how?: How): void;
  /** The types of the activities of a workflow that were completed by hand. */
  answered(workflowId: string): string[];
  stop(): Promise<void>;
}

/** Starts it on the task queues of a stack without a worker. */
export async function startByHandWorker(stack: WorkerStack): Promise<ByHandWorker> {
  const { client, deps } = stack;
  const { temporalAddress: address, temporalNamespace: namespace, taskQueue } = stack.config;
  const hands = new Map<string, Hand>();
  const real = createActivities({ deps, ...noObservers });
  type Activity = (...args: unknown[]) => Promise<unknown>;
  const activities = Object.fromEntries(
    Object.entries(real).map(([name, activity]) => [
      name,
      async (...args: unknown[]) => {
        const { workflowExecution, activityId } = activityInfo();
        const { workflowId = "", runId = "" } = workflowExecution ?? {};
        const hand = hands.get(workflowId);
        if (!hand || (hand.done.has(name) && hand.how !== "always"))
          return (activity as Activity)(...args);
        hand.done.add(name);
        const result = hand.by(`${runId}/${activityId}/${name}`);
        await client.activity.complete({ workflowId, activityId }, result);
        if (hand.how === "beside the attempt") return (activity as Activity)(...args);
        throw new CompleteAsyncError();
      },
    ]),
  );
  const connection = await NativeConnection.connect({ address });
  const options = { connection, namespace, activities, interceptors: { activity: [sealAnswers] } };
  const workers = [
    await Worker.create({ ...options, taskQueue, workflowBundle: workflowBundle() }),
    await Worker.create({ ...options, taskQueue: bulkTaskQueue(taskQueue) }),
    await Worker.create({ ...options, taskQueue: monthEndTaskQueue(taskQueue) }),
  ];
  const running = Promise.all(workers.map((worker) => worker.run()));
  return {
    answer: (workflowId, by, how = "once") =>
      void hands.set(workflowId, { by, how, done: new Set() }),
    answered: (workflowId) => [...(hands.get(workflowId)?.done ?? [])].toSorted(),
    async stop() {
      for (const worker of workers) worker.shutdown();
      await running;
      await connection.close();
    },
  };
}
