/** Every type of event as JSON: the SDK of CloudEvents accepts it, and the docs show it. */
import { CloudEvent, HTTP } from "cloudevents";
import { describe, expect, test } from "vitest";
import { toCloudEvent } from "../../../src/events/published/cloud-event.ts";
import { withoutPersonal } from "../../../src/events/published/personal.ts";
import { eventsByType } from "../../support/fixtures/events.ts";

const all = [...eventsByType];

describe.each(all)("%s", (type, event) => {
  const json = toCloudEvent(event);

  test("is a valid CloudEvent", () => {
    const parsed = new CloudEvent(JSON.parse(JSON.stringify(json)), true);
    expect(parsed.validate()).toBe(true);
    expect(parsed).toMatchObject({ id: event.id, type, source: event.source });
  });

  test("is read from the body of a request", () => {
    const headers = { "content-type": "application/cloudevents+json" };
    const parsed = HTTP.toEvent({ headers, body: JSON.stringify(json) }) as CloudEvent<unknown>;
    expect(JSON.parse(JSON.stringify(parsed))).toEqual(JSON.parse(JSON.stringify(json)));
  });

  test("has an id that every header takes, and names its subject", () => {
    expect(event.id).toMatch(/^[!-~]{1,2048}$/);
    expect(event.subject).toMatch(/^[!-~]+$/);
    expect(event.id.startsWith(`${event.subject}/`)).toBe(true);
  });
});

test("the examples of all types", async () => {
  const examples = all.map(([, event]) => toCloudEvent(withoutPersonal(event, [])));
  const lines = examples.map((each) => `${JSON.stringify(each)}\n`);
  await expect(lines.join("")).toMatchFileSnapshot("../../support/fixtures/cloud-events.jsonl");
});
