/** The doctor's checks of events: whether tables tell their changes, and whether they are read. */
import { streamedTables } from "../events/ports/changes.ts";
import { createEventLog } from "../events/store/event-log.ts";
import type { Clients } from "../platform/dynamodb/sdk/client.ts";
import type { TableName } from "../platform/dynamodb/tables.ts";
import { leaseRef } from "../platform/ports/records.ts";
import { createDynamoReader } from "../store/readers.ts";
import { CheckFailed } from "./check-failed.ts";
import { describeTable } from "./tables/describe.ts";

/** The images of an item that a stream has to hold. */
const wantedView = "NEW_AND_OLD_IMAGES";

/** The events process appends a batch at least once a minute, also when nothing changes. */
const deadMs = 300_000;

/** A stream that is off loses every change. Missing tables are what `checkTables` says. */
export async function checkStreams({ retrying }: Clients, names: TableName): Promise<string> {
  const wrong: string[] = [];
  for (const table of streamedTables) {
    const found = await describeTable(retrying, names(table));
    if (!found) return "not checked: a table is missing";
    const view = found.StreamSpecification?.StreamViewType ?? "off";
    if (view !== wantedView) wrong.push(`${names(table)} is ${view}`);
  }
  if (wrong.length > 0) {
    throw new CheckFailed(
      `no events are made of changes of ${wrong.join(", ")}; the stream should be ${wantedView}`,
      "Switch the streams on: aws dynamodb update-table --table-name ... " +
        `--stream-specification StreamEnabled=true,StreamViewType=${wantedView}.`,
    );
  }
  return `on for ${streamedTables.join(", ")}`;
}

/** Says how far the log is. A log that has not begun is none that has stopped. */
export async function checkEvents(clients: Clients, names: TableName): Promise<string> {
  const tail = await createEventLog(clients.retrying, names("events")).tail();
  if (!tail) return "no log has begun: no events process has run with these tables";
  const lease = await createDynamoReader(clients, names).get(leaseRef("events"));
  const writer = lease?.value.holder ? "a process" : "no process";
  const ageMs = Date.now() - tail.time;
  const age = `${Math.round(ageMs / 1_000)} s ago`;
  const found = `${writer} holds the lease of the log, whose last batch was appended ${age}`;
  if (ageMs < deadMs) return found;
  throw new CheckFailed(
    found,
    "Start the events process, or look at its log. Streams keep changes for 24 hours; what is " +
      "older is made again from the tables.",
  );
}
