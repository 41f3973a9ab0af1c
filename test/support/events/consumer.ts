/**
 * A consumer that reads all events by ReadEvents into its copy, with its cursor in a file. It
 * crashes at random in the middle of a page, before it has kept the cursor, and goes on from the
 * file, so it meets events again.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { errorInfoOf } from "../../../packages/client/src/errors.ts";
import { verdictOn } from "../../../packages/client/src/retry-policy.ts";
import { Personal } from "../../../src/gen/meguri/access/v1/access_pb.ts";
import type {
  ReadEventsRequestSchema,
  ReadEventsResponse,
} from "../../../src/gen/meguri/events/v1/event_service_pb.ts";
import type { EventCopy } from "./copy.ts";

interface ConsumerOptions {
  /** Calls ReadEvents of one of the servers. */
  read(
    request: MessageInitShape<typeof ReadEventsRequestSchema>,
    options: { readonly signal: AbortSignal; readonly timeoutMs: number },
  ): Promise<Pick<ReadEventsResponse, "events" | "cursor">>;
  readonly copy: EventCopy;
  readonly cursorFile: string;
  readonly random: () => number;
  /** The share of pages at which it crashes. */
  readonly crashShare: number;
  readonly over: AbortSignal;
}

const retryMs = 200;
const longestWaitMs = 2_000;
const largestPage = 500;

/** A server ends each call in 40 s, so a call that has not ended by then has lost its answer. */
const answerMs = 60_000;

/** A consumer that gets errors for so long will not get over them. */
const patienceMs = 100_000;

/** The earliest instant that a request takes. */
const oldestMs = 1_000;

const everything = {
  allPrograms: true,
  include: [Personal.REASON, Personal.DISPLAY_NAME, Personal.TEXT],
};

/**
 * Reads from the oldest event on until it is over. Returns how often it has crashed. Throws when it
 * gets no further, so that a test says where the events have stopped.
 */
export async function consume(options: ConsumerOptions): Promise<number> {
  for (let crashes = 0; ; crashes++) {
    await consumeOnce(options);
    if (options.over.aborted) return crashes;
  }
}

/** Reads on from the cursor in the file, until it crashes or is over. */
async function consumeOnce(options: ConsumerOptions): Promise<void> {
  const { copy, cursorFile, random, crashShare, over } = options;
  let cursor = existsSync(cursorFile) ? readFileSync(cursorFile, "utf8") : undefined;
  let answeredAt = performance.now();
  while (!over.aborted) {
    const page = await read(options, cursor, answeredAt);
    if (!page) continue;
    answeredAt = performance.now();
    const crashes = random() < crashShare;
    const seen = crashes ? Math.floor(random() * (page.events.length + 1)) : page.events.length;
    for (const event of page.events.slice(0, seen)) copy.add(event);
    if (crashes) return;
    cursor = page.cursor;
    // Renamed, so that a reader of the file finds the old cursor or the new one.
    writeFileSync(`${cursorFile}.new`, cursor);
    renameSync(`${cursorFile}.new`, cursorFile);
  }
}

/** The page behind a cursor; undefined when no server has answered, or it is over. */
async function read(
  { read, random, over }: ConsumerOptions,
  cursor: string | undefined,
  answeredAt: number,
) {
  const request = {
    ...everything,
    ...(cursor === undefined ? { startTime: timestampFromMs(oldestMs) } : { cursor }),
    maxWait: durationFromMs(Math.floor(random() * longestWaitMs)),
    pageSize: 1 + Math.floor(random() * largestPage),
  };
  try {
    return await read(request, { signal: over, timeoutMs: answerMs });
  } catch (thrown) {
    const error = ConnectError.from(thrown);
    if (over.aborted) return undefined;
    const isLost = error.code === Code.DeadlineExceeded && !errorInfoOf(error);
    const isTooLong = performance.now() - answeredAt > patienceMs;
    if (isLost || isTooLong || verdictOn(error).retry === "never") {
      throw new Error(`no page behind the cursor ${cursor}: ${error.message}`, { cause: error });
    }
    await sleep(retryMs, undefined, { signal: over }).catch(() => {});
    return undefined;
  }
}
