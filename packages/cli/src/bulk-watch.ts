/** The command that follows a bulk grant to its end. */
import { timestampNow } from "@bufbuild/protobuf/wkt";
import {
  BulkGrant_State as State,
  type WatchBulkGrantResponse_Update as Update,
  WatchBulkGrantResponse_UpdateSchema as UpdateSchema,
} from "@meguri/client/bulk-grants";
import { type AddCommand, examples } from "./action.ts";
import { aboutBulkGrant, stateText } from "./bulk-text.ts";
import { exitCodes } from "./exit-codes.ts";
import type { Io } from "./io.ts";
import { programOption } from "./options.ts";
import type { Columns } from "./output.ts";
import { singly } from "./pages.ts";
import { createBar } from "./progress.ts";

export const addWatch: AddCommand = (parent, inSession) => {
  parent
    .command("watch")
    .summary("follow a bulk grant until it ends")
    .description(
      "Shows the progress of a bulk grant until nothing more is done with it. The exit code is 0 " +
        "if all rows are granted, and 1 if it ended otherwise.",
    )
    .argument("<id>", "the bulk grant")
    .addOption(programOption())
    .addHelpText("after", examples("meguri bulk watch spring && echo all granted"))
    .action(
      inSession(async (session, bulkGrantId, { program: programId }) => {
        const { meguri, out, io, call } = session;
        let last: Update | undefined;
        async function* updates(): AsyncGenerator<Update> {
          for await (const update of meguri.watchBulkGrant({ programId, bulkGrantId }, call)) {
            last = update;
            yield update;
          }
        }
        if (out.isTerminal) await showBar(io, updates());
        else await out.list(UpdateSchema, singly(updates()), columns);
        await out.note(aboutBulkGrant(last?.bulkGrant));
        if (last?.bulkGrant?.state !== State.DONE) session.exitCode = exitCodes.refused;
      }),
    );
};

const columns: Columns<Update> = {
  time: () => timestampNow(),
  state: ({ bulkGrant }) => bulkGrant && stateText(bulkGrant),
  rows: (update) => rowsToGrant(update),
  granted: ({ progress }) => progress?.grantedCount,
  points: ({ progress }) => progress?.grantedPoints,
  failed: ({ progress }) => progress?.failedCount,
};

/** The rows of the sheet without those that an earlier revision has granted. */
const rowsToGrant = ({ bulkGrant }: Update): number =>
  (bulkGrant?.rowCount ?? 0) - (bulkGrant?.alreadyGrantedCount ?? 0);

async function showBar(io: Io, updates: AsyncIterable<Update>): Promise<void> {
  const bar = createBar(io, "{bar} {value} of {total} rows, {failed} failed, {state}");
  bar.start(1, 0, { failed: 0, state: "…" });
  try {
    for await (const update of updates) {
      const { grantedCount = 0, failedCount = 0 } = update.progress ?? {};
      const state = update.bulkGrant ? stateText(update.bulkGrant) : "";
      bar.setTotal(rowsToGrant(update));
      bar.update(grantedCount + failedCount, { failed: failedCount, state });
    }
  } finally {
    bar.stop();
  }
}
