/** Tests web hooks with real servers: their form, their signatures, and what may go wrong. */
import { randomBytes } from "node:crypto";
import { HTTP, type CloudEvent as ParsedEvent } from "cloudevents";
import { expect, onTestFinished, test, vi } from "vitest";
import { messageIdOf } from "../../../src/events/published/message-id.ts";
import { createAuthority, loopbackNames } from "../../support/fixtures/certificates.ts";
import {
  destinationOf,
  outgoing,
  secretOf,
  verified,
} from "../../support/fixtures/http-destination.ts";
import { entryEvent } from "../../support/fixtures/listed-events.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import {
  cutOff,
  cutOffWithin,
  type Hook,
  startHookServer,
  status,
} from "../../support/servers/hook-server.ts";

test("a request is a CloudEvent that is signed as Standard Webhooks say", async () => {
  const server = await startHookServer();
  const secret = secretOf();
  const { send } = destinationOf(server.url, { secrets: [secret] });
  expect(await send()).toBeUndefined();
  const [hook] = server.hooks as [Hook];
  expect(verified(hook, secret)).toMatchObject({ id: "points/default/aoi/17" });
  expect(hook.headers["webhook-id"]).toMatch(/^[\w-]{43}$/);
  const parsed = HTTP.toEvent(hook) as ParsedEvent<unknown>;
  expect(parsed).toMatchObject({ type: "points.issued", subject: "points/default/aoi" });
});

test("a changed body, another id and another secret are refused", async () => {
  const server = await startHookServer();
  const secret = secretOf();
  const { send } = destinationOf(server.url, { secrets: [secret] });
  await send();
  const [hook] = server.hooks as [Hook];
  const changed = { ...hook, body: hook.body.replace("aoi", "bob") };
  const headers = { ...hook.headers, "webhook-id": messageIdOf(entryEvent("aoi", 18)) };
  expect(() => verified(changed, secret)).toThrow("No matching signature");
  expect(() => verified({ ...hook, headers }, secret)).toThrow("No matching signature");
  expect(() => verified(hook, secretOf())).toThrow("No matching signature");
});

test("the time in the signature is that of the store, whatever this machine has", async () => {
  const server = await startHookServer();
  const sendTime = Date.UTC(2026, 0, 15, 3, 0, 0, 999);
  await destinationOf(server.url).send({ ...outgoing(), sendTime });
  expect(server.hooks[0]?.headers["webhook-timestamp"]).toBe(
    String(Date.UTC(2026, 0, 15, 3) / 1e3),
  );
});

test("both secrets sign, and a file that changes is read again", async () => {
  const server = await startHookServer();
  const [old, new_, newest] = [secretOf(), secretOf(), secretOf()];
  const { send, write } = destinationOf(server.url, { secrets: [old, new_] });
  await send();
  const [hook] = server.hooks as [Hook];
  verified(hook, old);
  verified(hook, new_);
  write([newest, new_]);
  await eventually(async () => {
    await send();
    verified(server.hooks.at(-1) as Hook, newest);
  });
  const last = server.hooks.at(-1) as Hook;
  verified(last, new_);
  expect(() => verified(last, old)).toThrow("No matching signature");
});

test("a bad secret ends the start, and is not shown", async () => {
  const secret = `whsec_${randomBytes(8).toString("base64")}`;
  const start = () => destinationOf("https://example.com", { secrets: [secret] });
  expect(start).toThrow("the key of a secret has 24 to 64 bytes, this one 8");
  expect(() => destinationOf("https://example.com", { secrets: ["abc"] })).toThrow("whsec_");
  const notBase64 = () => destinationOf("https://example.com", { secrets: ["whsec_a b"] });
  expect(notBase64).toThrow("base64");
});

test.each([
  [status(200), undefined],
  [status(202), undefined],
  [status(400), { reason: "answered 400" }],
  [status(500), { reason: "answered 500" }],
  [status(410), { reason: "answered 410", isGone: true }],
  [status(503, { "retry-after": "7" }), { reason: "answered 503", retryAfterMs: 7_000 }],
  [status(429, { "retry-after": "9999999" }), { retryAfterMs: 900_000 }],
  [status(429, { "retry-after": "Thu, 01 Jan 1970 00:00:00 GMT" }), { retryAfterMs: undefined }],
  [status(429, { "retry-after": "soon" }), { retryAfterMs: undefined }],
])("an answer (%#)", async (answer, failure) => {
  const server = await startHookServer();
  server.answer = answer;
  const result = await destinationOf(server.url).send();
  if (failure) expect(result).toMatchObject(failure);
  else expect(result).toBeUndefined();
});

test("what comes before the answer is no answer", async () => {
  const server = await startHookServer();
  server.answer = (response) => {
    response.writeEarlyHints({ link: "</a>; rel=preload" });
    response.writeProcessing();
    response.writeHead(204).end();
  };
  expect(await destinationOf(server.url).send()).toBeUndefined();
});

test("a connection that the receiver ends after each answer is no failure", async () => {
  const server = await startHookServer();
  server.answer = (response) => response.writeHead(204).end(() => response.socket?.end());
  const { send } = destinationOf(server.url);
  for (let i = 0; i < 20; i++) expect(await send()).toBeUndefined();
});

test("a redirect is not followed", async () => {
  const inside = await startHookServer();
  const server = await startHookServer();
  server.answer = status(307, { location: inside.url });
  expect(await destinationOf(server.url).send()).toMatchObject({ reason: "answered 307" });
  expect(inside.hooks).toEqual([]);
});

test.each([
  [cutOff, "UND_ERR_SOCKET"],
  [cutOffWithin, "UND_ERR_SOCKET"],
])("a connection that ends too early is no delivery (%#)", async (answer, code) => {
  const server = await startHookServer();
  server.answer = answer;
  const { send } = destinationOf(server.url);
  await expect(send()).rejects.toMatchObject({ code });
  server.answer = status(200);
  expect(await send()).toBeUndefined();
});

test("an answered request keeps nothing in memory for the rest of its time", async () => {
  const server = await startHookServer();
  const { send } = destinationOf(server.url, { timing: { answerMs: 1_000, requestMs: 12_345 } });
  const never = vi.spyOn(AbortSignal, "timeout");
  const begun = vi.spyOn(globalThis, "setTimeout");
  const cleared = vi.spyOn(globalThis, "clearTimeout");
  onTestFinished(() => void [never, begun, cleared].map((spy) => spy.mockRestore()));
  await send();
  const own = begun.mock.calls.findIndex(([, ms]) => ms === 12_345);
  expect(cleared).toHaveBeenCalledWith(begun.mock.results[own]?.value);
  expect(never).not.toHaveBeenCalled();
});

test("an answer of any size is a delivery, and is not read to its end", async () => {
  const server = await startHookServer();
  const block = Buffer.alloc(65_536);
  server.answer = (response) => {
    response.writeHead(200);
    const more = () => response.write(block) && setImmediate(more);
    response.on("drain", more);
    more();
  };
  expect(await destinationOf(server.url).send()).toBeUndefined();
});

test("a name that leads to a private address is refused at the connection", async () => {
  const server = await startHookServer();
  const url = server.url.replace("127.0.0.1", "localhost");
  const { send } = destinationOf(url, { isPrivate: false });
  await expect(send()).rejects.toMatchObject({ code: "PRIVATE_ADDRESS" });
  expect(server.hooks).toEqual([]);
});

test("by TLS, too, no private address is connected to", async () => {
  const { send } = destinationOf("https://localhost:1/events", { isPrivate: false });
  await expect(send()).rejects.toMatchObject({ code: "PRIVATE_ADDRESS" });
});

test("a certificate of an unknown authority is refused", async () => {
  const authority = await createAuthority("test");
  const server = await startHookServer(await authority.issue(loopbackNames));
  await expect(destinationOf(server.url).send()).rejects.toThrow("certificate");
  expect(server.hooks).toEqual([]);
});
