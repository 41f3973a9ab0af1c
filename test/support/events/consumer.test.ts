/** Tests the consumer that crashes, and the receiver that fails, with senders that are right. */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { toCloudEvent } from "../../../src/events/published/cloud-event.ts";
import { LedgerEntry_Type as Type } from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import { randomFrom } from "../models/random.ts";
import { fromCloudEvent } from "./cloud-events.ts";
import { consume } from "./consumer.ts";
import { EventCopy } from "./copy.ts";
import { entry } from "./hand-made.ts";
import { startReceiver } from "./receiver.ts";

const events = Array.from({ length: 250 }, (_, i) => entry(i + 1, Type.ISSUED, 1, i + 1));
const lastId = "points/default/aoi/250";
const secret = `whsec_${randomBytes(24).toString("base64")}`;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-consumer-"));
});

afterAll(() => rm(folder, { recursive: true }));

test("a consumer that crashes has everything, and goes on from its file", async () => {
  const copy = new EventCopy();
  const over = new AbortController();
  const crashes = await consume({
    async read({ cursor = "", pageSize = 0 }) {
      if (copy.ids().has(lastId)) over.abort();
      const from = Number(cursor);
      const page = events.slice(from, from + pageSize);
      return { events: page, cursor: String(from + page.length) };
    },
    ...{ copy, cursorFile: join(folder, "cursor"), random: randomFrom(1), crashShare: 0.5 },
    over: over.signal,
  });
  expect(copy.faults).toEqual([]);
  expect(copy.counts.events).toBe(events.length);
  expect(copy.counts.repeated).toBeGreaterThan(0);
  expect(crashes).toBeGreaterThan(0);
});

test("a consumer says where it was when an answer is lost", async () => {
  const lost = new ConnectError("the operation timed out", Code.DeadlineExceeded);
  const answers = [{ events: [], cursor: "behind" }];
  const consuming = consume({
    async read() {
      const answer = answers.pop();
      if (!answer) throw lost;
      return answer;
    },
    ...{ copy: new EventCopy(), cursorFile: join(folder, "lost"), random: randomFrom(1) },
    ...{ crashShare: 0, over: new AbortController().signal },
  });
  await expect(consuming).rejects.toThrow(/no page behind the cursor behind: .*timed out/);
});

test("a receiver that fails has everything, from a sender that tries again", async () => {
  const copy = new EventCopy();
  const wrong: string[] = [];
  const onWrong = (what: string) => wrong.push(what);
  const receiver = await startReceiver({ copy, secret, random: randomFrom(2), onWrong });
  const { url } = receiver;
  for (const event of events) await sendUntilTaken(url, JSON.stringify(toCloudEvent(event)));
  expect(wrong).toEqual([]);
  expect(copy.faults).toEqual([]);
  expect(copy.counts.events).toBe(events.length);
  expect(copy.counts.repeated).toBeGreaterThanOrEqual(receiver.counts.lost);
  for (const count of Object.values(receiver.counts)) expect(count).toBeGreaterThan(0);
  receiver.recover();
  const [first] = events.map((event) => JSON.stringify(toCloudEvent(event)));
  const signed = signatureOf(`${first}`);
  expect((await post(url, `${first} `, signed)).status).toBe(500);
  expect(wrong).toHaveLength(1);
  await receiver.stop();
});

/** Sends an event until it is taken; gives up an answer that does not come. */
async function sendUntilTaken(url: string, body: string): Promise<void> {
  for (;;) {
    const sent = post(url, body, signatureOf(body), AbortSignal.timeout(500));
    const status = await sent.then((response) => response.status).catch(() => undefined);
    if (status === 204) return;
  }
}

const post = (url: string, body: string, headers: Record<string, string>, signal?: AbortSignal) =>
  fetch(url, { method: "POST", body, headers, signal: signal ?? null });

function signatureOf(body: string) {
  const time = new Date();
  return {
    "webhook-id": "id",
    "webhook-timestamp": String(Math.floor(time.getTime() / 1_000)),
    "webhook-signature": new Webhook(secret).sign("id", time, body),
  };
}

test.each([
  ["no CloudEvent", "{}", "this is no event"],
  ["an unknown attribute", { surprise: 1 }, "unknown attributes surprise"],
  ["an unknown type", { type: "weather.changed" }, "unknown type weather.changed"],
  ["unknown data", { data: { weather: "fine" } }, "weather"],
])("a body is refused that has %s", (_, change, why) => {
  const [first] = events.map(toCloudEvent);
  const body = typeof change === "string" ? change : JSON.stringify({ ...first, ...change });
  expect(() => fromCloudEvent(body)).toThrow(why);
});
