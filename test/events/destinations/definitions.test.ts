/** Tests the file of subscriptions: what it may have, and how each wrong field is named. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  readSubscriptionDefinitions,
  subscriptionOf,
} from "../../../src/events/destinations/definitions.ts";
import { Personal } from "../../../src/gen/meguri/access/v1/access_pb.ts";
import { codeNamed } from "../../support/markdown.ts";

const hook = {
  name: "orders",
  type: "http",
  types: "all",
  programs: ["default"],
  url: "https://example.com/events",
  secret_files: ["/run/secrets/orders"],
};
const all = { types: "all", programs: "all", region: "ap-northeast-1" };

function read(...subscriptions: readonly object[]) {
  const folder = mkdtempSync(join(tmpdir(), "subscriptions-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "subscriptions.json");
  writeFileSync(path, JSON.stringify({ subscriptions }));
  return readSubscriptionDefinitions(path);
}

function problemsOf(...subscriptions: readonly object[]): string {
  try {
    read(...subscriptions);
  } catch (error) {
    return (error as Error).message;
  }
  return "";
}

test("the file of the documentation is right", () => {
  const { subscriptions } = JSON.parse(
    codeNamed("docs/run/event-subscriptions.md", "subscriptions"),
  );
  expect(read(...subscriptions).map(({ type }) => type)).toEqual(["http", "sqs", "eventbridge"]);
});

test("there are none without a file", () => {
  expect(readSubscriptionDefinitions(undefined)).toEqual([]);
});

test("a file has subscriptions of all types", () => {
  const definitions = read(
    { ...hook, types: ["points.used"], include: ["reason"], start: "oldest" },
    { ...all, name: "bus", type: "eventbridge", bus: "default" },
    { ...all, name: "queue", type: "sqs", queue_url: "https://sqs.example.com/1/events.fifo" },
    { ...all, name: "topic", type: "sns", topic_arn: "arn:aws:sns:us-east-1:1:events.fifo" },
  );
  expect(definitions.map(subscriptionOf).slice(0, 2)).toEqual([
    {
      name: "orders",
      filter: { types: ["points.used"], programIds: ["default"] },
      include: [Personal.REASON],
      start: "oldest",
    },
    { name: "bus", filter: { types: [], programIds: undefined }, include: [], start: "now" },
  ]);
});

test.each([
  [{ name: "Orders" }, "name", "1 to 32 of a-z, 0-9 and -"],
  [{ types: [] }, "types", ""],
  [{ types: ["points.usd"] }, "types", "the nearest is points.used"],
  [{ types: ["points.used", "points.used"] }, "types", ""],
  [{ programs: ["No"] }, "programs", ""],
  [{ include: ["names"] }, "include[0]", ""],
  [{ start: "yesterday" }, "start", ""],
  [{ secret_files: [] }, "secret_files", ""],
  [{ secret_files: ["/a", "/b", "/c"] }, "secret_files", ""],
  [{ secret_files: ["secret"] }, "secret_files[0]", "has to be absolute"],
  [{ url: "ftp://example.com" }, "url", ""],
  [{ url: "http://example.com" }, "url", "has to be https, unless allow_private is true"],
  [{ url: "https://a:b@example.com" }, "url", "has credentials"],
  [{ url: "https://10.1.2.3/" }, "url", "is a private address"],
  [{ url: "https://[::1]/" }, "url", "is a private address"],
  [{ url: "https://0x7f000001/" }, "url", "is a private address"],
  [{ color: "red" }, "", "color"],
  [{ type: "kafka" }, "type", "one of http, eventbridge, sqs and sns"],
])("refuses %j", (wrong, field, text) => {
  const problems = problemsOf({ ...hook, ...wrong });
  if (field) expect(problems).toContain(`at subscriptions[0].${field}`);
  expect(problems).toContain(text);
});

test("names all that is wrong, also in several subscriptions", () => {
  const queue = { ...all, name: "orders", type: "sqs", queue_url: "https://example.com/plain" };
  const problems = problemsOf({ ...hook, start: 1 }, queue);
  expect(problems).toContain("subscriptions[0].start");
  expect(problems).toContain("not the URL of a FIFO queue");
});

test("refuses two of one name", () => {
  expect(problemsOf(hook, hook)).toContain("another subscription is named orders");
});

test("private addresses and http are permitted on demand", () => {
  expect(read({ ...hook, url: "http://127.0.0.1:1/", allow_private: true })).toHaveLength(1);
});
