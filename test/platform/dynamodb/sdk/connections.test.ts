/** Tests the timeouts of the thin transport's connections. */
import { HttpRequest } from "@smithy/core/protocols";
import type { Dispatcher } from "undici";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createConnections } from "../../../../src/platform/dynamodb/sdk/connections.ts";
import { requestMs } from "../../../../src/platform/ports/engine.ts";

let handler: Dispatcher.DispatchHandler;
let outcome: Promise<unknown>;
const abort = vi.fn();
const controller = { abort } as unknown as Dispatcher.DispatchController;

beforeEach(() => {
  vi.useFakeTimers();
  abort.mockClear();
  const dispatch: Dispatcher["dispatch"] = (_, given) => {
    handler = given;
    return true;
  };
  const request = new HttpRequest({ protocol: "http:", hostname: "127.0.0.1", method: "POST" });
  outcome = createConnections({ dispatch } as Dispatcher)
    .handle(request)
    .catch((error) => error);
});

afterEach(() => void vi.useRealTimers());

test("a request that gets no connection in time fails, and is not sent later", async () => {
  await vi.advanceTimersByTimeAsync(requestMs);
  expect(await outcome).toMatchObject({ name: "TimeoutError" });
  expect(abort).not.toHaveBeenCalled();
  handler.onRequestStart?.(controller, {});
  expect(abort).toHaveBeenCalledOnce();
});

test("a request whose headers do not come in time is aborted", async () => {
  handler.onRequestStart?.(controller, {});
  await vi.advanceTimersByTimeAsync(requestMs - 1);
  expect(abort).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(abort).toHaveBeenCalledOnce();
  expect(await outcome).toMatchObject({ name: "TimeoutError" });
  expect(await outcome).not.toHaveProperty("$metadata");
});

test("each part of a body has the whole time, and a stalled body has a status", async () => {
  handler.onRequestStart?.(controller, {});
  handler.onResponseStart?.(controller, 200, {});
  for (let i = 0; i < 3; i++) {
    await vi.advanceTimersByTimeAsync(requestMs - 1);
    handler.onResponseData?.(controller, Buffer.from("{"));
  }
  expect(abort).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(requestMs);
  expect(abort).toHaveBeenCalledOnce();
  const error = { name: "TimeoutError", $metadata: { httpStatusCode: 200 } };
  expect(await outcome).toMatchObject(error);
});

test("an answer is there as a whole, and its timer is gone", async () => {
  handler.onRequestStart?.(controller, {});
  handler.onResponseStart?.(controller, 200, { date: "now" });
  handler.onResponseData?.(controller, Buffer.from("{"));
  handler.onResponseData?.(controller, Buffer.from("}"));
  handler.onResponseEnd?.(controller, {});
  const response = { statusCode: 200, headers: { date: "now" }, body: Buffer.from("{}") };
  expect(await outcome).toMatchObject({ response });
  expect(vi.getTimerCount()).toBe(0);
});

test("a request of a signal that aborts fails at once, and is aborted", async () => {
  const stop = new AbortController();
  const dispatch: Dispatcher["dispatch"] = (_, given) => {
    handler = given;
    return true;
  };
  const { handle } = createConnections({ dispatch } as Dispatcher);
  const request = new HttpRequest({ protocol: "http:", hostname: "127.0.0.1", method: "POST" });
  const aborted = handle(request, { abortSignal: stop.signal }).catch((error) => error);
  handler.onRequestStart?.(controller, {});
  stop.abort();
  expect(await aborted).toMatchObject({ name: "AbortError" });
  expect(abort).toHaveBeenCalledOnce();
  const late = handle(request, { abortSignal: stop.signal }).catch((error) => error);
  expect(await late).toMatchObject({ name: "AbortError" });
});
