/** The command that exports the ledgers of a program. */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type LedgerExport,
  LedgerExportSchema,
  LedgerExport_State as State,
  LedgerExport_StateSchema as StateSchema,
} from "@meguri/client/points";
import { type AddCommand, examples } from "./action.ts";
import { counted } from "./counted.ts";
import { exitCodes } from "./exit-codes.ts";
import { enumName, pastTimeFormat, programOption, readTime } from "./options.ts";

/** How often the progress of a run is read. */
const pollMs = 1_000;

export const addLedgerExport: AddCommand = (parent, inSession) => {
  parent
    .command("export")
    .summary("write the ledgers of a program to files")
    .description(
      "Writes what was recorded in all ledgers of a program between two times to files of a " +
        "destination that the operators have configured, and waits for the end; Ctrl-C ends only " +
        "the waiting. The same command joins the same export, or shows it when it is done.",
    )
    .argument("<id>", "the id of the export, which names its folder, such as 2026-10")
    .addOption(programOption())
    .requiredOption("--to <destination>", "the name of the destination")
    .option("--since <time>", `only what was recorded since ${pastTimeFormat}`, readTime)
    .requiredOption(
      "--until <time>",
      "only what was recorded before this time, 16 minutes ago at the latest",
      readTime,
    )
    .addHelpText(
      "after",
      examples(
        "meguri ledger export 2026-10 -p shop --to audit \\",
        "  --since 2026-10-01T00:00+09:00 --until 2026-11-01T00:00+09:00",
      ),
    )
    .action(
      inSession(async (session, exportId, { program: programId, to: destination, ...times }) => {
        const { meguri, out, call } = session;
        const { since: createTimeFrom, until: createTimeBefore } = times;
        const name = { programId, exportId };
        const request = {
          ...{ ...name, destination, createTimeBefore },
          ...(createTimeFrom && { createTimeFrom }),
        };
        let { ledgerExport: found } = await meguri.points.exportLedger(request, call);
        while (found?.state === State.RUNNING) {
          await out.note(noteOf(found));
          await sleep(pollMs, undefined, call);
          ({ ledgerExport: found } = await meguri.points.getLedgerExport(name, call));
        }
        if (found === undefined) return;
        await out.message(LedgerExportSchema, found, ({ unreadableEntries }) =>
          out.table(
            unreadableEntries.map(({ userId, number }) => [userId, number]),
            ["user", "unreadable entry"],
          ),
        );
        await out.note(noteOf(found));
        const isWhole = found.state === State.DONE && found.unreadableEntryCount === 0n;
        if (!isWhole) session.exitCode = exitCodes.refused;
      }),
    );
};

const noteOf = (found: LedgerExport): string =>
  `${found.destination}/${found.folder}: ${enumName(StateSchema, found.state)}, ` +
  (found.state === State.FAILED
    ? `the run ${found.workflowId} in Temporal says why`
    : `${counted(found.entryCount, "entry", "entries")} in ` +
      `${counted(found.partCount, "part")}, ` +
      `${found.unreadableEntryCount} could not be read`);
