/** What the destinations on AWS have in common: their clients, their batches and names in FIFO. */
import { createHash } from "node:crypto";
import type { DeliveryFailure, Destination, OutgoingEvent } from "../ports/deliveries.ts";

/** The most entries that one request of each of the services takes. */
const maxEntries = 10;

/** The largest request of SNS, less what surrounds the texts. The other services take more. */
const maxBytes = 240 * 1_024;

/** A destination by one request of a service. It makes as few as the sizes of events permit. */
export const awsDestination = (
  client: { destroy(): void },
  request: Destination["send"],
): Destination => ({
  maxEvents: maxEntries,
  async send(events, signal) {
    const outcomes: (DeliveryFailure | undefined)[] = [];
    while (outcomes.length < events.length) {
      const rest = events.slice(outcomes.length);
      outcomes.push(...(await request(rest.slice(0, countWithin(rest)), signal)));
    }
    return outcomes;
  },
  close: () => client.destroy(),
});

/** How many of the events one request takes, at least one. */
function countWithin(events: readonly OutgoingEvent[]): number {
  let bytes = 0;
  const end = events.findIndex(({ text }) => {
    bytes += Buffer.byteLength(text);
    return bytes > maxBytes;
  });
  return end === -1 ? events.length : Math.max(1, end);
}

/** What a client of the SDK is made with. Attempts are made again here, not by the SDK. */
export const clientOptions = (definition: {
  readonly region: string;
  readonly endpoint?: string | undefined;
}) => ({
  region: definition.region,
  ...(definition.endpoint !== undefined && { endpoint: definition.endpoint }),
  maxAttempts: 1,
  requestHandler: {
    connectionTimeout: 5_000,
    requestTimeout: 15_000,
    throwOnRequestTimeout: true,
    socketTimeout: 15_000,
  },
});

/**
 * A subject as the id of a message group: up to 128 visible ASCII characters. What is longer or has
 * other ones is named by its hash.
 */
const groupId = (subject: string): string =>
  /^[!-~]{1,128}$/.test(subject)
    ? subject
    : `sha256:${createHash("sha256").update(subject).digest("hex")}`;

/**
 * The two characters that SQS refuses in a text, escaped as JSON permits. Names that people choose
 * can have them, and one refused event would hold up its subject for ever.
 */
export const queueText = ({ text }: OutgoingEvent): string =>
  text.replaceAll("\ufffe", "\\ufffe").replaceAll("\uffff", "\\uffff");

/** The fields of an entry for a FIFO queue or topic. Its id in the request is its index. */
export const fifoEntry = ({ messageId, subject }: OutgoingEvent, index: number) => ({
  Id: String(index),
  MessageGroupId: groupId(subject),
  MessageDeduplicationId: messageId,
});

interface BatchAnswer {
  readonly Successful?: readonly { readonly Id?: string | undefined }[] | undefined;
  readonly Failed?:
    | readonly { readonly Id?: string | undefined; readonly Code?: string | undefined }[]
    | undefined;
}

/** What has become of each entry, by an answer of SQS or SNS. What it does not name has failed. */
export function outcomesOf(
  events: readonly OutgoingEvent[],
  { Successful = [], Failed = [] }: BatchAnswer,
): (DeliveryFailure | undefined)[] {
  return events.map((_, index) => {
    const isEntry = ({ Id }: { readonly Id?: string | undefined }) => Id === String(index);
    if (Successful.some(isEntry)) return undefined;
    return { reason: `answered ${Failed.find(isEntry)?.Code ?? "without this event"}` };
  });
}
