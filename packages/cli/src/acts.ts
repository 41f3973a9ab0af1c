/** The command that lists who changed what. */
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type Act, ActService, type ListActsResponse } from "@meguri/client/acts";
import { Temporal } from "temporal-polyfill";
import { lists } from "./command.ts";
import { pastTimeFormat, program, readTime } from "./options.ts";

const { method } = ActService;

/** Reads a time, or "today" or "yesterday": the beginning of the day where the machine is. */
function readPastTime(text: string): Timestamp {
  if (text !== "today" && text !== "yesterday") return readTime(text);
  const days = text === "today" ? 0 : 1;
  // In this order, because a day that begins at 01:00 may follow one that begins at 00:00.
  const day = Temporal.Now.zonedDateTimeISO().subtract({ days }).startOfDay();
  return timestampFromMs(day.epochMilliseconds);
}

/** A value in quotes where it could be read as the end of a change, or as no value. */
const valueText = (value: string): string =>
  /[;→]|^none$/.test(value) ? JSON.stringify(value) : value || "none";

const changesText = ({ changes }: Act): string =>
  changes
    .map(({ field, before, after }) => `${field}: ${valueText(before)} → ${valueText(after)}`)
    .join("; ");

export const log = lists<Act>(method.listActs, {
  summary: "list who changed what, newest first",
  description:
    "Lists the acts of a program, newest first: who changed what by an audited method, the " +
    "values before and after, and why. Nobody has verified the name of what came by Temporal.",
  takes: [
    [
      `--since <time> = createTimeFrom: since "today", "yesterday" or ${pastTimeFormat}`,
      { isRequired: true, read: readPastTime },
    ],
    ["--until <time> = createTimeBefore: only before this time", { read: readPastTime }],
    "--by <subject> = subject: only by this person or workload",
    "--user <user> = userId: only about the account or a reservation of this user",
    program,
  ],
  examples: [
    "meguri log --since yesterday",
    "meguri log --since 2026-11-01T00:00+09:00 --by alice",
    "meguri log --since 2026-11-01T00:00+09:00 --user user-7",
  ],
  columns: [
    "time: createTime, by: caller, via, method, object: objectType, id: objectId",
    { changes: changesText },
    "reason, request: requestId",
  ],
  note(answer) {
    const { unreadableActs } = answer as ListActsResponse;
    if (unreadableActs.length === 0) return undefined;
    return `not readable, and left out: ${unreadableActs.join(", ")}`;
  },
});
