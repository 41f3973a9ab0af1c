/**
 * A loopback server that takes messages as SQS (AWS JSON 1.0), SNS (query) and EventBridge (AWS
 * JSON 1.1) do, and refuses requests or entries as a test says.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** An entry of a request, by the names of the service. */
export type AwsEntry = Readonly<Record<string, string>>;

export interface AwsEventsServer {
  readonly endpoint: string;
  /** The entries of each request, in their order, those that were refused included. */
  readonly requests: readonly (readonly AwsEntry[])[];
  /** Refuses the entries at these indexes of the next request. */
  refuseNext(...indexes: readonly number[]): void;
  /** Throttles the whole next request. */
  throttleNext(): void;
}

export async function startAwsEventsServer(): Promise<AwsEventsServer> {
  const requests: (readonly AwsEntry[])[] = [];
  let refused: readonly number[] = [];
  let isThrottled = false;
  const server = createServer(async (request, response) => {
    const service = serviceOf(request.headers);
    const entries = service.entriesOf(await text(request));
    requests.push(entries);
    const [bad, throttled] = [refused, isThrottled];
    [refused, isThrottled] = [[], false];
    if (!request.headers.authorization?.startsWith("AWS4-HMAC-SHA256 ")) response.writeHead(403);
    else if (throttled) service.throttle(response);
    else response.write(service.answer(entries, (i) => bad.includes(i)));
    response.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    refuseNext(...indexes) {
      refused = indexes;
    },
    throttleNext() {
      isThrottled = true;
    },
  };
}

type IsRefused = (index: number) => boolean;

interface Service {
  entriesOf(body: string): readonly AwsEntry[];
  answer(entries: readonly AwsEntry[], isRefused: IsRefused): string;
  throttle(response: ServerResponse): void;
}

function serviceOf(headers: IncomingHttpHeaders): Service {
  const target = headers["x-amz-target"];
  if (target === "AmazonSQS.SendMessageBatch") return sqs;
  return target === "AWSEvents.PutEvents" ? eventbridge : sns;
}

const throttleJson: Service["throttle"] = (response) =>
  void response.writeHead(400).write(JSON.stringify({ __type: "ThrottlingException" }));

const entriesOfJson: Service["entriesOf"] = (body) => JSON.parse(body).Entries;

const sqs: Service = {
  entriesOf: entriesOfJson,
  throttle: throttleJson,
  answer(entries, isRefused) {
    const all = entries.map((entry, i) => ({ entry, isRefused: isRefused(i) }));
    return JSON.stringify({
      Successful: all.flatMap(({ entry: { Id, MessageBody = "" }, isRefused }) =>
        isRefused ? [] : [{ Id, MessageId: Id, MD5OfMessageBody: md5(MessageBody) }],
      ),
      Failed: all.flatMap(({ entry: { Id }, isRefused }) =>
        isRefused ? [{ Id, Code: "InternalError", SenderFault: false }] : [],
      ),
    });
  },
};

const md5 = (body: string): string => createHash("md5").update(body).digest("hex");

const eventbridge: Service = {
  entriesOf: entriesOfJson,
  throttle: throttleJson,
  answer: (entries, isRefused) =>
    JSON.stringify({
      FailedEntryCount: entries.filter((_, i) => isRefused(i)).length,
      Entries: entries.map((_, i) =>
        isRefused(i) ? { ErrorCode: "InternalFailure" } : { EventId: `${i}` },
      ),
    }),
};

const sns: Service = {
  entriesOf(body) {
    const entries: Record<string, string>[] = [];
    for (const [name, value] of new URLSearchParams(body)) {
      const [, number, field] =
        /^PublishBatchRequestEntries\.member\.(\d+)\.(.+)$/.exec(name) ?? [];
      if (number === undefined || field === undefined) continue;
      entries[Number(number) - 1] = { ...entries[Number(number) - 1], [field]: value };
    }
    return entries;
  },
  throttle: (response) =>
    void response
      .writeHead(400, { "content-type": "text/xml" })
      .write("<ErrorResponse><Error><Code>Throttled</Code></Error></ErrorResponse>"),
  answer(entries, isRefused) {
    const members = (list: readonly string[]) =>
      list.map((member) => `<member>${member}</member>`).join("");
    const good = entries.flatMap(({ Id }, i) =>
      isRefused(i) ? [] : [`<Id>${Id}</Id><MessageId>${Id}</MessageId>`],
    );
    const bad = entries.flatMap(({ Id }, i) =>
      isRefused(i)
        ? [`<Id>${Id}</Id><Code>InternalError</Code><SenderFault>false</SenderFault>`]
        : [],
    );
    return (
      `<PublishBatchResponse><PublishBatchResult><Successful>${members(good)}</Successful>` +
      `<Failed>${members(bad)}</Failed></PublishBatchResult></PublishBatchResponse>`
    );
  },
};
