/** Sends reports of bulk grants and their rules to a channel by one of Slack's webhooks. */
import {
  type FetchFunction,
  IncomingWebhook,
  IncomingWebhookHTTPError,
  IncomingWebhookRequestError,
} from "@slack/webhook";
import pRetry from "p-retry";
import type { WorkflowLinks } from "../../platform/temporal/links.ts";
import { type Reporter, ReportFailed, ReportUncertain } from "../ports/bulk-grants.ts";
import { messageOf } from "./message.ts";
import { pickUpMessage } from "./pick-up-message.ts";
import { ruleChangeMessage } from "./rule-change-message.ts";

interface SlackTiming {
  /** How long one request may take. */
  readonly timeoutMs: number;
  /** The delay after the first attempt. Each further one is twice as long. */
  readonly minDelayMs: number;
}

/**
 * A request may take longer than the 10 s in which Node gives up a connection. The delays between
 * the attempts are 0.5, 1, 2 and 4 s, because Slack takes one message a second.
 */
const production: SlackTiming = { timeoutMs: 12_000, minDelayMs: 500 };

const retries = 4;

/** The codes of errors that end a request before it reaches Slack. */
const unsentCodes: readonly unknown[] = [
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
];

/** The answers of gateways, which do not know whether Slack has the message. */
const gatewayStatuses: readonly number[] = [502, 504];

/** The report was not sent, and another attempt may succeed. */
class TemporarilyUnsent extends ReportFailed {}

/**
 * Sends each report as one message. Retries for about 8 s what certainly was not sent: no
 * connection, or an answer 429 or 5xx. Sends nothing twice: when no answer came after the request,
 * throws `ReportUncertain`. Throws another error when the report was not sent. No error contains
 * the address of the webhook, because that is all one needs to post to the channel.
 */
export function createSlackReporter(options: {
  readonly webhookUrl: string;
  readonly links: WorkflowLinks;
  readonly timing?: SlackTiming;
}): Reporter {
  const { timeoutMs, minDelayMs } = options.timing ?? production;
  const webhook = new IncomingWebhook(options.webhookUrl, {
    timeout: timeoutMs,
    fetch: fetchOnNewConnection,
  });
  async function send(text: string): Promise<void> {
    const message = { text, unfurl_links: false, unfurl_media: false };
    const attempt = async () => {
      try {
        await webhook.send(message);
      } catch (error) {
        throw classified(error);
      }
    };
    await pRetry(attempt, {
      retries,
      minTimeout: minDelayMs,
      factor: 2,
      shouldRetry: ({ error }) => error instanceof TemporarilyUnsent,
    });
  }
  return {
    send: (report) => send(messageOf(report, options.links)),
    sendRuleChange: (report) => send(ruleChangeMessage(report)),
    sendPickUp: (report) =>
      send(pickUpMessage(report, options.links.toWorkflow(report.workflowId))),
  };
}

/** The reporter without a webhook. It sends nothing. */
export const noReporter: Reporter = {
  async send() {},
  async sendRuleChange() {},
  async sendPickUp() {},
};

/**
 * Opens a connection for each request. A kept one may be closed by Slack while the request is on
 * its way, and then nothing says whether the message was sent.
 */
const fetchOnNewConnection: FetchFunction = (url, init) =>
  fetch(url, { ...init, headers: { ...init?.headers, connection: "close" } });

function classified(error: unknown): Error {
  if (error instanceof IncomingWebhookHTTPError) {
    const { statusCode: status, body } = error;
    const answer = `Slack answered ${status}: ${body.slice(0, 200)}`;
    if (gatewayStatuses.includes(status)) return new ReportUncertain(answer);
    return status === 429 || status >= 500
      ? new TemporarilyUnsent(answer)
      : new ReportFailed(answer);
  }
  const code = codeOf(error);
  if (unsentCodes.includes(code)) return new TemporarilyUnsent(`no connection to Slack: ${code}`);
  return new ReportUncertain(`no answer from Slack: ${code}`);
}

/** The code of the error below `fetch failed`, or the name of the error. */
function codeOf(error: unknown): string {
  if (!(error instanceof IncomingWebhookRequestError)) return String(error);
  const { cause } = error.original;
  const code = cause instanceof Error && (cause as NodeJS.ErrnoException).code;
  return code || error.original.name;
}
