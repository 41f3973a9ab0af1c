/** Sends events to a web hook: one request for each, signed as Standard Webhooks say. */
import { Agent, request } from "undici";
import { watchFiles } from "../../platform/auth/watch-files.ts";
import type { Logger } from "../../platform/observe/log.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import type { DeliveryFailure, Destination, OutgoingEvent } from "../ports/deliveries.ts";
import { lookupAny, lookupPublic } from "./addresses.ts";
import type { DefinitionOf } from "./definitions.ts";
import { parseSecret, signatureHeaders } from "./signatures.ts";

interface HttpTiming {
  /** How long the status of an answer may take, and each pause within it. */
  readonly answerMs: Milliseconds;
  /** How long a whole request may take. */
  readonly requestMs: Milliseconds;
}

/** A busy machine that takes longer sends the event again, under the same id. */
const usual: HttpTiming = { answerMs: 15_000, requestMs: 30_000 };

/** An answer is read up to here, so that its connection can be used again. */
const maxAnswerBytes = 65_536;

/** At most so long a receiver is left alone as it asks. */
const maxRetryAfterMs: Milliseconds = 15 * 60_000;

/** Opens the files of the secrets. Throws when one is missing or bad. */
export function createHttpDestination(
  definition: DefinitionOf<"http">,
  log: Logger,
  { answerMs, requestMs }: HttpTiming = usual,
): Destination {
  const { url, secret_files: files, allow_private: allowPrivate = false } = definition;
  const secrets = watchFiles(files, (contents) => contents.map(parseSecret), log);
  const agent = new Agent({
    allowH2: false,
    headersTimeout: answerMs,
    bodyTimeout: answerMs,
    connect: { timeout: answerMs, lookup: allowPrivate ? lookupAny : lookupPublic },
  });

  async function post(event: OutgoingEvent, ending: AbortSignal) {
    const late = new AbortController();
    const expire = () => late.abort(new DOMException("it took too long", "TimeoutError"));
    // AbortSignal.timeout would stay in memory for all of the time, with thousands a second.
    const timer = setTimeout(expire, requestMs);
    try {
      return await postWithin(event, AbortSignal.any([ending, late.signal]));
    } finally {
      clearTimeout(timer);
    }
  }

  async function postWithin(event: OutgoingEvent, signal: AbortSignal) {
    const { statusCode, headers, body } = await request(url, {
      method: "POST",
      dispatcher: agent,
      signal,
      headers: {
        "content-type": "application/cloudevents+json",
        "user-agent": "meguri",
        ...signatureHeaders(secrets.current(), event),
      },
      body: event.text,
    });
    await readToEnd(body);
    const isDelivered = statusCode >= 200 && statusCode < 300;
    return isDelivered ? undefined : failureOf(statusCode, headers["retry-after"]);
  }

  return {
    maxEvents: 1,
    send: (events, ending) => Promise.all(events.map((event) => post(event, ending))),
    close() {
      secrets.close();
      void agent.destroy();
    },
  };
}

/** Rejects when the answer breaks off. Closes the connection of one that is too long. */
async function readToEnd(body: AsyncIterable<Buffer>): Promise<void> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) break;
  }
}

const failureOf = (status: number, retryAfter: string | string[] | undefined): DeliveryFailure => ({
  reason: `answered ${status}`,
  retryAfterMs: retryAfterMs(String(retryAfter)),
  ...(status === 410 && { isGone: true }),
});

/** The header in its two forms: seconds, or a date. */
function retryAfterMs(text: string): Milliseconds | undefined {
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return ms > 0 ? Math.min(ms, maxRetryAfterMs) : undefined;
}
