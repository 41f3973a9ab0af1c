/** What hostile clients do to readers of events: many streams and calls that read a long log. */
import { once } from "node:events";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { EventService } from "../../../src/gen/meguri/events/v1/event_service_pb.ts";
import { randomFrom } from "../models/random.ts";
import { frame, open, type RawCall, send } from "../servers/raw-grpc.ts";
import { encoded, pathOf, statusOf } from "./calls.ts";
import { inSessions, pause, repeat, type Site } from "./site.ts";

const { readEvents, watchEvents } = EventService.method;

/** From the oldest event on. */
const startTime = { seconds: 1n };

/** About how long ago the log of the target begins. */
const maxAgeMs = 60_000;

const callOf = (
  site: Site,
  method: typeof readEvents | typeof watchEvents,
  init: object,
): RawCall => ({
  path: pathOf(method),
  headers: { authorization: `Bearer ${site.token}` },
  chunks: [frame(encoded(method, init))],
});

/** Streams that look at the whole log again and again, and want none of it. */
const wholeLogs = (site: Site) =>
  inSessions(site, 4, (session, closed) =>
    repeat(closed, 250, async () => {
      const call = callOf(site, watchEvents, { startTime, types: ["bulk_grant.ended"] });
      site.count(statusOf(await send(session, call)));
      await pause(closed, 1_000);
    }),
  );

/** Streams from anywhere in the log that are never read, so that each has events of its own. */
const unreadLogs = (site: Site) => {
  const random = randomFrom(1);
  return inSessions(
    site,
    4,
    (session, closed) =>
      repeat(closed, 250, async () => {
        site.count("watch");
        const since = Date.now() - maxAgeMs * random();
        const begin = { startTime: timestampFromMs(since), allPrograms: true };
        const stream = open(session, callOf(site, watchEvents, begin));
        stream.on("error", () => undefined);
        if (!stream.closed) await once(stream, "close");
        await pause(closed, 200);
      }),
    { initialWindowSize: 0 },
  );
};

/** Reads of the whole log, which their callers do not wait for. */
const abandonedReads = (site: Site) =>
  inSessions(site, 2, (session, closed) =>
    repeat(closed, 50, async () => {
      const request = { startTime, types: ["bulk_grant.ended"], maxWait: { seconds: 30n } };
      const stream = open(session, callOf(site, readEvents, request));
      stream.on("error", () => undefined);
      site.count("read");
      await pause(closed, 5);
      stream.close(8);
      await pause(closed, 250);
    }),
  );

export const eventAttacks: Readonly<Record<string, (site: Site) => Promise<void>>> = {
  "watchers of the whole log": wholeLogs,
  "watchers of events that do not read": unreadLogs,
  "reads of the whole log that are abandoned": abandonedReads,
};
