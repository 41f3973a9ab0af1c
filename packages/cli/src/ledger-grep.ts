/** The command that searches exported ledgers. */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { LedgerEntry_TypeSchema, ListLedgerEntriesRequestSchema } from "@meguri/client/points";
import { runs } from "./command.ts";
import { type ExportedLine, entriesIn, filesOf } from "./exported-files.ts";
import { write } from "./io.ts";
import { entryTypes, recordedSince, recordedUntil } from "./options.ts";
import { printable, quantity } from "./output.ts";

type Test = (line: ExportedLine) => boolean;

export const grep = runs(ListLedgerEntriesRequestSchema, {
  summary: "search exported ledgers",
  description:
    "Prints the lines of exported ledgers that fit all options, as they are. Reads files, or " +
    "folders of exports, whose manifest has to list what is there; no server is called. Finding " +
    "nothing is no error.",
  takes: [
    '<file...>: folders of exports, or files of lines (.gz or not); "-" reads lines',
    "--user <id>: only this user",
    "--event <id>: only the entry of this event id",
    "--cause <id>: only this cause",
    "--reason <text>: only reasons that contain this text",
    "--by <caller>: only what this service, or this subject, has requested",
    entryTypes,
    recordedSince,
    recordedUntil,
  ],
  examples: [
    "meguri ledger grep /exports/shop/2026-10 --event order-17",
    "meguri ledger grep part-0-000001.jsonl.gz --type USED --user alice",
  ],
  async run({ io, out }, { types, createTimeFrom, createTimeBefore }, values) {
    const { file: paths, user, event, cause, reason, by } = values as Texts;
    const typeNames = new Set(types.map((type) => LedgerEntry_TypeSchema.value[type]?.name));
    const tests: Test[] = [];
    if (user !== undefined) tests.push(({ userId }) => userId === user);
    if (event !== undefined) tests.push(({ entry }) => entry.event?.eventId === event);
    if (cause !== undefined) tests.push(({ entry }) => entry.cause === cause);
    if (reason !== undefined) tests.push(({ entry }) => entry.reason?.includes(reason) === true);
    if (by !== undefined) tests.push(({ entry }) => isCalledBy(entry, by));
    if (types.length > 0) tests.push(({ entry }) => typeNames.has(entry.type));
    if (createTimeFrom) tests.push(({ entry }) => timeOf(entry) >= timestampMs(createTimeFrom));
    if (createTimeBefore) tests.push(({ entry }) => timeOf(entry) < timestampMs(createTimeBefore));
    const fits: Test = (line) => tests.every((test) => test(line));
    for (const path of paths) {
      const { files, unreadable } = await filesOf(path);
      if (unreadable > 0) {
        const entries = quantity(unreadable, "entry", "entries");
        await out.note(`${path}: ${entries} could not be exported`);
      }
      for (const file of files) {
        for await (const lines of entriesIn(file, io, fits)) {
          const texts = out.isTerminal ? lines.map(printable) : lines;
          await write(io.stdout, texts.map((text) => `${text}\n`).join(""));
        }
      }
    }
  },
});

type Texts = { readonly [name in "user" | "event" | "cause" | "reason" | "by"]?: string } & {
  readonly file: readonly string[];
};

const timeOf = ({ createTime }: ExportedLine["entry"]): number => Date.parse(createTime);

const isCalledBy = ({ caller }: ExportedLine["entry"], name: string): boolean =>
  caller?.service === name || caller?.subject === name;
