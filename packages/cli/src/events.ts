/** The command that prints events. */
import { access, constants, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type FollowedEvents, metadataOf, reasonOf } from "@meguri/client";
import {
  type Event,
  EventService,
  Personal,
  type ReadEventsRequest,
  ReadEventsRequestSchema,
  type ReadEventsResponse,
  toCloudEvent,
} from "@meguri/client/events";
import { InvalidArgumentError } from "commander";
import { send } from "./calls.ts";
import { type Commands, runs } from "./command.ts";
import { UsageError } from "./errors.ts";
import { follow } from "./follow.ts";
import { write } from "./io.ts";
import { pastTimeFormat, program, readDuration, readTime } from "./options.ts";
import type { Session } from "./session.ts";

/** Where the cursor of a run is kept, if it is. */
interface CursorFile {
  read(): Promise<string>;
  save(cursor: string): Promise<void>;
}

const texts = {
  reason: Personal.REASON,
  "display-name": Personal.DISPLAY_NAME,
  text: Personal.TEXT,
} as const;

/** How many events a call to the end of the log reads. */
const pageSize = 1_000;

/** Reads how long ago, or a time. One from now on would be taken for one so long ago. */
function readSince(text: string): Timestamp {
  try {
    if (/^\d+[smhd]$/.test(text)) {
      return timestampFromMs(Date.now() - Number(readDuration(text).seconds) * 1_000);
    }
    if (!text.startsWith("+")) return readTime(text);
  } catch {
    // The same is wrong with all other texts.
  }
  throw new InvalidArgumentError(`It has to be how long ago, such as "1h", or ${pastTimeFormat}.`);
}

export const events: Commands = {
  tail: runs(ReadEventsRequestSchema, {
    summary: "print events as they happen",
    description:
      "Prints each event as one line of JSON, a CloudEvent, until Ctrl-C. With --cursor-file it " +
      "goes on where the last run has ended; an event that was printed may come again, with the " +
      "same id.",
    takes: [
      program,
      ["--all-programs = allPrograms: of all programs, and of none", { conflicts: "program" }],
      "--type <types...> = types: only these types, such as points.used; -- ends the list",
      [
        `--since <time> = startTime: begin so long ago, such as "1h", or at ` +
          `${pastTimeFormat}; with what comes from now on by default`,
        { read: readSince },
      ],
      [
        "--include <texts...> = include: also the texts of people: reason, display-name, text",
        { words: texts },
      ],
      "--cursor-file <file> = cursor: where to keep the cursor; what it has comes before --since",
      "--no-follow: end when there are no more events",
    ],
    examples: [
      "meguri events tail --type points.used --since 1h",
      "meguri events tail --all-programs --cursor-file cursor",
    ],
    async run(session, request, values) {
      if (request.allPrograms) request.programId = "";
      const name = values.cursorFile as string | undefined;
      const file = cursorFile(name);
      request.cursor = await file.read();
      if (request.cursor !== "") request.startTime = undefined;
      try {
        if (values.follow === false) await toEnd(session, request, file);
        else await tail(session, request, file);
      } catch (error) {
        if (reasonOf(error) === "CURSOR_EXPIRED" && name !== undefined) {
          const since = metadataOf(error).oldest_time;
          await session.out.note(`delete ${name}, and begin again with --since ${since}`);
        }
        throw error;
      }
    },
  }),
};

/**
 * Prints events until Ctrl-C, which ends it as it should. The first call does not try for ever, so
 * that a person hears of a server that is not there.
 */
async function tail(session: Session, request: ReadEventsRequest, file: CursorFile): Promise<void> {
  const { programId, allPrograms, types, include } = request;
  try {
    const { cursor } = await printPage(session, request, file);
    const asked = { programId, allPrograms, types, include, cursor };
    const followed: FollowedEvents = { ...asked, save: file.save };
    const events = follow(
      session,
      (options) => session.meguri.events.follow(followed, options),
      true,
    );
    for await (const event of events) await print(session, [event]);
  } catch (error) {
    if (!session.io.signal.aborted) throw error;
  }
}

async function toEnd(
  session: Session,
  request: ReadEventsRequest,
  file: CursorFile,
): Promise<void> {
  for (let isAtEnd = false; !isAtEnd; ) {
    const page = await printPage(session, request, file);
    request.cursor = page.cursor;
    request.startTime = undefined;
    isAtEnd = page.atEnd;
  }
}

async function printPage(
  session: Session,
  request: ReadEventsRequest,
  file: CursorFile,
): Promise<ReadEventsResponse> {
  // A call that does not wait for events has the time of all other calls.
  const inTime = { ...session, call: { ...session.call, timeoutMs: session.connection.timeoutMs } };
  const page = await send(inTime, EventService.method.readEvents, { ...request, pageSize });
  await print(session, page.events);
  await file.save(page.cursor);
  return page;
}

const print = ({ io }: Session, found: readonly Event[]): Promise<void> =>
  write(io.stdout, found.map((event) => `${JSON.stringify(toCloudEvent(event))}\n`).join(""));

/**
 * A file that is replaced as a whole, so that it never has half a cursor, also when another command
 * has the same one. Whether it can be is found before anything is printed.
 */
function cursorFile(file: string | undefined): CursorFile {
  if (file === undefined) return { read: async () => "", save: async () => {} };
  const next = `${file}.${process.pid}.new`;
  return {
    read: () =>
      orUsage(async () => {
        await access(dirname(file), constants.W_OK);
        return (await readFile(file, "utf8").catch(noneYet)).trim();
      }),
    save: (cursor) =>
      orUsage(async () => {
        await writeFile(next, `${cursor}\n`);
        await rename(next, file);
      }),
  };
}

function noneYet(error: NodeJS.ErrnoException): string {
  if (error.code === "ENOENT") return "";
  throw error;
}

/** What is wrong with the file is told as what is wrong with its option. */
async function orUsage<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw new UsageError(`--cursor-file: ${(error as Error).message}`);
  }
}
