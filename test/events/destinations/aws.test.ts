/** Tests the destinations on AWS against a server that speaks the formats of their services. */
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createDestinations } from "../../../src/events/destinations/create-destinations.ts";
import type { SubscriptionDefinition } from "../../../src/events/destinations/definitions.ts";
import { createLogger } from "../../../src/platform/observe/log.ts";
import { outgoingEntry } from "../../support/fixtures/listed-events.ts";
import { startAwsEventsServer } from "../../support/servers/aws-events-server.ts";

const all = { types: "all", programs: "all", region: "ap-northeast-1" } as const;
const logger = createLogger("test", "silent");
const signal = new AbortController().signal;

beforeEach(() => {
  vi.stubEnv("AWS_ACCESS_KEY_ID", "key");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
});

afterEach(() => vi.unstubAllEnvs());

const outgoing = (userId: string) => outgoingEntry(userId, 1);

const events = ["aoi", "bob", "chie"].map((userId) => outgoing(userId));

function destinationOf(definition: SubscriptionDefinition) {
  const [created] = createDestinations([definition], logger);
  onTestFinished(() => created?.destination.close());
  return { send: (sent = events) => created?.destination.send(sent, signal) };
}

const sqsOf = (endpoint: string) =>
  destinationOf({ ...all, name: "a", type: "sqs", queue_url: `${endpoint}/1/a.fifo`, endpoint });
const snsOf = (endpoint: string) =>
  destinationOf({ ...all, name: "a", type: "sns", topic_arn: "arn:aws:sns:r:1:a.fifo", endpoint });
const busOf = (endpoint: string) =>
  destinationOf({ ...all, name: "a", type: "eventbridge", bus: "main", endpoint });

describe.each([
  ["sqs", sqsOf, "MessageBody"],
  ["sns", snsOf, "Message"],
  ["eventbridge", busOf, "Detail"],
])("%s", (_, destination, field) => {
  test("takes the events of a batch", async () => {
    const server = await startAwsEventsServer();
    const { send } = destination(server.endpoint);
    expect(await send()).toEqual([undefined, undefined, undefined]);
    const texts = server.requests[0]?.map((entry) => entry[field]);
    expect(texts).toEqual(events.map(({ text }) => text));
  });

  test("refuses single events", async () => {
    const server = await startAwsEventsServer();
    const { send } = destination(server.endpoint);
    server.refuseNext(1);
    const reason = expect.stringMatching(/^answered Internal(Error|Failure)$/);
    expect(await send()).toEqual([undefined, { reason }, undefined]);
  });

  test("throttles a whole request, which is not sent again here", async () => {
    const server = await startAwsEventsServer();
    const { send } = destination(server.endpoint);
    server.throttleNext();
    await expect(send()).rejects.toMatchObject({ name: expect.stringContaining("Throttl") });
    expect(server.requests).toHaveLength(1);
  });

  test("gets large events in several requests", async () => {
    const server = await startAwsEventsServer();
    const { send } = destination(server.endpoint);
    const large = events.map((event) => ({ ...event, text: "x".repeat(100_000) }));
    expect(await send(large)).toEqual([undefined, undefined, undefined]);
    expect(server.requests.map((entries) => entries.length)).toEqual([2, 1]);
  });
});

describe.each([
  ["sqs", sqsOf],
  ["sns", snsOf],
])("%s, as FIFO", (_, destination) => {
  test("groups by the subject, and knows an event again by its source and id", async () => {
    const server = await startAwsEventsServer();
    const sent = [outgoing("aoi"), outgoing("あ".repeat(40))];
    await destination(server.endpoint).send(sent);
    const [MessageDeduplicationId, ofLong] = sent.map(({ messageId }) => messageId);
    expect(server.requests[0]).toMatchObject([
      { MessageGroupId: "points/default/aoi", MessageDeduplicationId },
      {
        MessageGroupId: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
        MessageDeduplicationId: ofLong,
      },
    ]);
  });
});

test.each([
  ["sqs", sqsOf, "MessageBody"],
  ["sns", snsOf, "Message"],
])("%s gets no character that a queue refuses", async (_, destination, field) => {
  const server = await startAwsEventsServer();
  const text = JSON.stringify({ kind: "\ufffe\uffff😀" });
  await destination(server.endpoint).send([{ ...outgoing("aoi"), text }]);
  const sent = server.requests[0]?.[0]?.[field] ?? "";
  expect(sent).not.toMatch(/[\ufffe\uffff]/);
  expect(JSON.parse(sent)).toEqual(JSON.parse(text));
});

test("eventbridge has type, source and bus", async () => {
  const server = await startAwsEventsServer();
  await busOf(server.endpoint).send([outgoing("aoi")]);
  expect(server.requests[0]).toMatchObject([
    { EventBusName: "main", Source: "meguri", DetailType: "points.issued" },
  ]);
});

test("all subscriptions with bad secrets are named", () => {
  const hook = { types: "all", programs: "all", type: "http", url: "https://a.example" } as const;
  const create = () =>
    createDestinations(
      [
        { ...hook, name: "one", secret_files: ["/missing/one"] },
        { ...all, name: "two", type: "eventbridge", bus: "main" },
        { ...hook, name: "three", secret_files: ["/missing/three"] },
      ],
      logger,
    );
  expect(create).toThrow(/subscription one: .*\/missing\/one.*\nsubscription three: /);
});
