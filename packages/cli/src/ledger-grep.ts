/** The command that searches exported ledgers. */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { type AddCommand, examples } from "./action.ts";
import { counted } from "./counted.ts";
import { type ExportedLine, entriesIn, filesOf } from "./exported-files.ts";
import { write } from "./io.ts";
import { pastTimeFormat, readTime, typesOption } from "./options.ts";
import { printable } from "./output.ts";

type Test = (line: ExportedLine) => boolean;

export const addGrep: AddCommand = (parent, inSession) => {
  parent
    .command("grep")
    .summary("search exported ledgers")
    .description(
      "Prints the lines of exported ledgers that fit all options, as they are. Reads files, or " +
        "folders of exports, whose manifest has to list what is there; no server is called. " +
        "Finding nothing is no error.",
    )
    .argument("<file...>", 'folders of exports, or files of lines (.gz or not); "-" reads lines')
    .option("--user <id>", "only this user")
    .option("--event <id>", "only the entry of this event id")
    .option("--cause <id>", "only this cause")
    .option("--reason <text>", "only reasons that contain this text")
    .option("--by <caller>", "only what this service, or this subject, has requested")
    .addOption(typesOption())
    .option("--since <time>", `only what was recorded since ${pastTimeFormat}`, readTime)
    .option("--until <time>", "only what was recorded before this time", readTime)
    .addHelpText(
      "after",
      examples(
        "meguri ledger grep /exports/shop/2026-10 --event order-17",
        "meguri ledger grep part-0-000001.jsonl.gz --type USED --user alice",
      ),
    )
    .action(
      inSession(async ({ io, out }, paths, { user, event, reason, ...options }) => {
        const { cause, by, type, since, until } = options;
        const types = new Set(type?.map((name) => `TYPE_${name}`));
        const [from, before] = [since && timestampMs(since), until && timestampMs(until)];
        const tests: Test[] = [];
        if (user !== undefined) tests.push(({ userId }) => userId === user);
        if (event !== undefined) tests.push(({ entry }) => entry.event?.eventId === event);
        if (cause !== undefined) tests.push(({ entry }) => entry.cause === cause);
        if (reason !== undefined)
          tests.push(({ entry }) => entry.reason?.includes(reason) === true);
        if (by !== undefined) tests.push(({ entry }) => isCalledBy(entry, by));
        if (type !== undefined) tests.push(({ entry }) => types.has(entry.type));
        if (from !== undefined) tests.push(({ entry }) => Date.parse(entry.createTime) >= from);
        if (before !== undefined) tests.push(({ entry }) => Date.parse(entry.createTime) < before);
        const fits: Test = (line) => tests.every((test) => test(line));
        for (const path of paths) {
          const { files, unreadable } = await filesOf(path);
          if (unreadable > 0) {
            const entries = counted(unreadable, "entry", "entries");
            await out.note(`${path}: ${entries} could not be exported`);
          }
          for (const file of files) {
            for await (const lines of entriesIn(file, io, fits)) {
              const texts = out.isTerminal ? lines.map(printable) : lines;
              await write(io.stdout, texts.map((text) => `${text}\n`).join(""));
            }
          }
        }
      }),
    );
};

const isCalledBy = ({ caller }: ExportedLine["entry"], name: string): boolean =>
  caller?.service === name || caller?.subject === name;
