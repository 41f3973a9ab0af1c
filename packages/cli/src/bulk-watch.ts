/** Follows a bulk grant to its end: the command that does so, and the wait of a submission. */
import { timestampNow } from "@bufbuild/protobuf/wkt";
import type { WatchOptions } from "@meguri/client";
import {
  BulkGrant_State as State,
  type WatchBulkGrantResponse_Update as Update,
  WatchBulkGrantResponse_UpdateSchema as UpdateSchema,
  WatchBulkGrantRequestSchema,
} from "@meguri/client/bulk-grants";
import { SingleBar } from "cli-progress";
import { aboutBulkGrant, detailsOf, stateText } from "./bulk-text.ts";
import { singly } from "./calls.ts";
import { runs } from "./command.ts";
import { exitCodes } from "./exit-codes.ts";
import { follow } from "./follow.ts";
import type { Io } from "./io.ts";
import { bulkGrant, program } from "./options.ts";
import { type Columns, nounFor } from "./output.ts";
import { createRowRate, type RowRate } from "./row-rate.ts";
import type { Session } from "./session.ts";

export const watch = runs(WatchBulkGrantRequestSchema, {
  summary: "follow a bulk grant until it ends",
  description:
    "Shows the progress of a bulk grant until nothing more is done with it, then what is wrong " +
    "and the next command. The exit code is 0 if all rows are granted, and 1 if it ended " +
    "otherwise.",
  takes: [bulkGrant, program],
  examples: ["meguri bulk watch spring && echo all granted"],
  run: (session, request) => followToEnd(session, request),
});

/** Shows the progress until nothing more is done, and sets the exit code. */
export async function followToEnd(
  session: Session,
  { programId, bulkGrantId }: { readonly programId: string; readonly bulkGrantId: string },
  hasAnswered = false,
): Promise<void> {
  const { out, io } = session;
  const rateOf = createRowRate();
  let rate: RowRate = {};
  let last: Update | undefined;
  const say = async () => {
    if (out.isJson || !last?.bulkGrant) return;
    for (const line of await detailsOf(session, last.bulkGrant)) await out.note(line);
  };
  const bar = out.isTerminal ? startBar(io) : undefined;
  async function* updates(): AsyncGenerator<Update> {
    const watched = { programId, bulkGrantId };
    const watch = (options: WatchOptions) => session.meguri.watchBulkGrant(watched, options);
    for await (const update of follow(session, watch, hasAnswered)) {
      const isNewState = last?.bulkGrant?.state !== update.bulkGrant?.state;
      last = update;
      rate = rateOf(rowsDone(update), rowsToGrant(update), performance.now());
      bar?.show(update, rate);
      yield update;
      if (!isNewState || update.bulkGrant?.state !== State.AWAITING_APPROVAL) continue;
      bar?.stop();
      await say();
    }
  }
  try {
    if (bar === undefined) {
      await out.list(
        UpdateSchema,
        singly(updates()),
        columns(() => rate),
      );
    } else {
      for await (const _ of updates());
    }
  } finally {
    bar?.stop();
  }
  await out.note(aboutBulkGrant(last?.bulkGrant));
  await say();
  if (last?.bulkGrant?.state !== State.DONE) session.exitCode = exitCodes.refused;
}

/** The columns of a pipe. The rate is that of the update that is printed. */
const columns = (rate: () => RowRate): Columns<Update> => ({
  time: () => timestampNow(),
  state: ({ bulkGrant }) => bulkGrant && stateText(bulkGrant),
  rows: rowsToGrant,
  granted: ({ progress }) => progress?.grantedCount,
  points: ({ progress }) => progress?.grantedPoints,
  failed: ({ progress }) => progress?.failedCount,
  "rows a second": () => rate().rowsPerSecond?.toFixed(1),
  "seconds left": () => rate().secondsLeft,
});

/** The rows of the sheet without those that an earlier revision has granted. */
const rowsToGrant = ({ bulkGrant }: Update): number =>
  (bulkGrant?.rowCount ?? 0) - (bulkGrant?.alreadyGrantedCount ?? 0);

const rowsDone = ({ progress }: Update): number =>
  (progress?.grantedCount ?? 0) + (progress?.failedCount ?? 0);

/** A bar that may be stopped, so that lines are printed below it, and begins again after them. */
function startBar(io: Io) {
  const bar = createBar(io, "{bar} {value} of {total} {rows}, {failed} failed{speed}, {state}");
  return {
    show(update: Update, rate: RowRate): void {
      const { bulkGrant, progress } = update;
      const payload = {
        rows: nounFor(rowsToGrant(update), "row"),
        failed: progress?.failedCount ?? 0,
        speed: speedText(rate),
        state: bulkGrant ? stateText(bulkGrant) : "",
      };
      if (!bar.isActive) bar.start(1, 0, payload);
      bar.setTotal(rowsToGrant(update));
      bar.update(rowsDone(update), payload);
    },
    stop: () => bar.stop(),
  };
}

function speedText({ rowsPerSecond, secondsLeft }: RowRate): string {
  if (rowsPerSecond === undefined || secondsLeft === undefined) return "";
  const left = secondsLeft >= 90 ? `${Math.ceil(secondsLeft / 60)} min` : `${secondsLeft} s`;
  return `, ${rowsPerSecond.toFixed(1)} rows/s, ${left} left`;
}

/** Makes a bar of this format on standard output, which has to be a terminal. */
export const createBar = ({ stdout }: Io, format: string): SingleBar =>
  new SingleBar({
    stream: stdout as NodeJS.WriteStream,
    format,
    barCompleteChar: "█",
    barIncompleteChar: "░",
    barsize: 30,
    hideCursor: true,
    // The command handles signals itself.
    gracefulExit: false,
  });
