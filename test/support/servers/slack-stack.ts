/** A worker stack with Slack, whose bulk grants run so few rows a second that tests see them. */
import { type SlackServer, startSlackServer } from "./slack-server.ts";
import { startWorkerStack, type WorkerStack } from "./worker.ts";

export interface SlackStack {
  readonly stack: WorkerStack;
  readonly slack: SlackServer;
  stop(): Promise<void>;
}

export async function startSlackStack(): Promise<SlackStack> {
  const slack = await startSlackServer();
  const stack = await startWorkerStack({
    env: {
      MEGURI_SLACK_WEBHOOK_URL: slack.webhookUrl,
      MEGURI_BULK_ROWS_PER_SECOND: "150",
    },
  });
  return {
    stack,
    slack,
    async stop() {
      await stack.stop();
      await slack.stop();
    },
  };
}
