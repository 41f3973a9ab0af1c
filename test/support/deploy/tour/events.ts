/** Reads events by each RPC of the EventService, also those of gaps of all streamed tables. */
import type { Event } from "../../../../src/gen/meguri/events/v1/event_pb.ts";
import { eventually } from "../../fixtures/waiting.ts";
import { replaceStream } from "../../streams/replace-stream.ts";
import { firstOf, type TourClients } from "./called.ts";
import type { Behind } from "./damages.ts";

/** A table, and a type of the events of its changes. */
const tables = {
  points: "points.used",
  reservations: "reservation.created",
  bulk: "bulk_grant.ended",
  reactions: "target.changed",
  notifications: "notification.began",
} as const;

/** Reads all events of some types until one fits each of the tables. */
const seeAll = (
  { events }: TourClients,
  types: readonly string[],
  fits: (event: Event, table: keyof typeof tables) => boolean,
) =>
  eventually(async () => {
    const missing = new Set(Object.keys(tables) as (keyof typeof tables)[]);
    for (let [cursor, atEnd] = ["", false]; !atEnd; ) {
      const start = cursor ? { cursor } : { startTime: { seconds: 1n } };
      const page = await events.readEvents({ allPrograms: true, types: [...types], ...start });
      for (const event of page.events) {
        for (const table of missing) if (fits(event, table)) missing.delete(table);
      }
      ({ cursor, atEnd } = page);
    }
    if (missing.size > 0) throw new Error(`nothing of ${[...missing].join(" and ")}`);
  });

/** Waits until the log has events of each table, so that it has positions in all streams. */
export async function tourEvents(clients: TourClients): Promise<void> {
  await seeAll(clients, Object.values(tables), ({ type }, table) => type === tables[table]);
  await firstOf(clients.events.watchEvents({ allPrograms: true, startTime: { seconds: 1n } }));
}

/** Replaces all streams while no process reads them, and waits until one has closed the gaps. */
export async function tourGaps(
  clients: TourClients,
  { client, tableName }: Behind,
  start: () => Promise<unknown>,
): Promise<void> {
  for (const table of Object.keys(tables) as (keyof typeof tables)[]) {
    await replaceStream(client, tableName(table));
  }
  await start();
  await seeAll(
    clients,
    ["events.gap_closed"],
    ({ data }, table) => data.case === "gapClosed" && data.value.table === table,
  );
}
