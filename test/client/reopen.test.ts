/** Tests when a stream is opened again, and what ends it. */
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { reopen, type StreamEvent } from "../../packages/client/src/reopen.ts";
import { RetryInfoSchema } from "../../src/gen/google/rpc/error_details_pb.ts";

/** The pauses between streams, which are recorded and not slept. */
const delays = vi.hoisted(() => [] as number[]);
vi.mock("node:timers/promises", () => ({
  async setTimeout(ms: number, _: undefined, options?: { signal?: AbortSignal }) {
    options?.signal?.throwIfAborted();
    delays.push(ms);
  },
}));
beforeEach(() => {
  delays.length = 0;
  // The waits are 25, 50, 100 ms and so on, on top of what the server asks for.
  vi.spyOn(Math, "random").mockReturnValue(0.5);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const broken = new ConnectError("the connection broke", Code.Aborted);
const refusal = new ConnectError("no", Code.InvalidArgument);
const slow = new ConnectError("slow", Code.Unavailable, undefined, [
  { desc: RetryInfoSchema, value: { retryDelay: durationFromMs(5_000) } },
]);
const value = { value: "x" };

type Script = readonly (StreamEvent<string> | Error)[];

/** Follows scripted streams. `signals` are those by which each of them is ended. */
function follow(
  streams: readonly Script[],
  signal?: AbortSignal,
  returnMs?: number,
  onBroken?: (error: ConnectError) => void,
) {
  const left = [...streams];
  const signals: AbortSignal[] = [];
  async function* open(ending: AbortSignal): AsyncGenerator<StreamEvent<string>> {
    signals.push(ending);
    for (const event of left.shift() ?? [{ isLast: true }]) {
      if (event instanceof Error) throw event;
      yield event;
    }
  }
  const options = { ...(signal && { signal }), ...(onBroken && { onBroken }) };
  return { values: reopen(options, open, returnMs), signals };
}

/** Reads all values. Returns the error that ends them. */
async function readAll(values: AsyncIterable<string>): Promise<unknown> {
  try {
    for await (const _ of values);
    return undefined;
  } catch (error) {
    return error;
  }
}

test("the waits after broken streams grow, until there is an event again", async () => {
  const error = await readAll(
    follow([[value, slow], [], [broken], [{ reopenMs: 7_300 }], [broken], [refusal]]).values,
  );
  expect(error).toBe(refusal);
  expect(delays).toEqual([5_025, 50, 100, 7_300, 25]);
});

test("after a stream that had begun, the next one comes at a random time", async () => {
  const streams = [[value, broken], [broken], [value], [value, { reopenMs: 7_300 }], [refusal]];
  await readAll(follow(streams, undefined, 10_000).values);
  expect(delays).toEqual([5_025, 50, 5_025, 7_300]);
});

test("the wait that a stream asks for stays when it tells nothing new afterwards", async () => {
  await readAll(follow([[{ reopenMs: 7_300 }, { isKnown: true }]]).values);
  expect(delays).toEqual([7_300]);
});

test("the last event ends the values, and nothing is opened any more", async () => {
  const { values, signals } = follow([[value, { isLast: true }, value], [value]]);
  const seen: string[] = [];
  for await (const each of values) seen.push(each);
  expect(seen).toEqual(["x"]);
  expect(signals).toHaveLength(1);
});

test("each stream is ended when it is followed no more, with and without a signal", async () => {
  for (const signal of [undefined, new AbortController().signal]) {
    const { values, signals } = follow([[broken], [value, value]], signal);
    for await (const _ of values) {
      expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
      break;
    }
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  }
});

test("the caller's signal ends the stream, and a wait between two streams", async () => {
  const controller = new AbortController();
  const { values, signals } = follow([[value, broken], [value]], controller.signal);
  await values.next();
  controller.abort();
  expect(signals[0]?.aborted).toBe(true);
  await expect(values.next()).rejects.toBe(broken);
  const between = follow([[], [value]], AbortSignal.abort());
  await expect(between.values.next()).rejects.toMatchObject({ code: Code.Canceled });
  expect(between.signals).toHaveLength(1);
  expect(delays).toEqual([]);
});

test("of failures one after another the first is reported, and may end the values", async () => {
  const reported: unknown[] = [];
  const streams = [
    [value, broken],
    [broken],
    [value],
    [slow],
    [{ isKnown: true }, broken],
  ] as const;
  const values = follow(streams, undefined, undefined, (error) => reported.push(error)).values;
  expect(await readAll(values)).toBeUndefined();
  expect(reported).toEqual([broken, slow, broken]);
  const ended = follow([[broken], [value]], undefined, undefined, () => {
    throw refusal;
  });
  expect(await readAll(ended.values)).toBe(refusal);
  expect(ended.signals).toHaveLength(1);
});
