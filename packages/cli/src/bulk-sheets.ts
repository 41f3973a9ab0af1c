/** The commands that send a sheet: to be checked, or to be granted. */
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  type BulkGrantProblem,
  type SheetCheck,
  SheetCheckSchema,
  type UploadBulkGrantResponse,
  UploadBulkGrantResponseSchema,
} from "@meguri/client/bulk-grants";
import { type AddCommand, examples } from "./action.ts";
import { reportSubmission } from "./bulk-submission.ts";
import { aboutBulkGrant } from "./bulk-text.ts";
import { follow } from "./bulk-watch.ts";
import { counted } from "./counted.ts";
import { UsageError } from "./errors.ts";
import { exitCodes } from "./exit-codes.ts";
import type { Io } from "./io.ts";
import {
  causeOption,
  expireMonthOption,
  programOption,
  readCount,
  readTime,
  timeFormat,
} from "./options.ts";
import { createBar } from "./progress.ts";
import type { Session } from "./session.ts";

export const fileHelp = 'the sheet in CSV; "-" reads standard input';

export const addCheck: AddCommand = (parent, inSession) => {
  parent
    .command("check")
    .summary("check a sheet, and keep nothing")
    .description(
      "Checks a sheet as if it were submitted, and lists what is wrong with its rows. The exit " +
        "code is 0 if nothing is.",
    )
    .argument("<id>", "the bulk grant to which it would be submitted")
    .argument("<file>", fileHelp)
    .addOption(programOption())
    .addOption(expireMonthOption())
    .addHelpText("after", examples("meguri bulk check spring sheet.csv"))
    .action(
      inSession(async (session, bulkGrantId, file, options) => {
        const { out } = session;
        const { program: programId, expireMonth = "" } = options;
        const header = { programId, bulkGrantId, expireMonth, validateOnly: true };
        const { check } = await upload(session, header, file);
        await out.message(SheetCheckSchema, check, ({ problems }) =>
          out.table(problems.map(problemCells), ["line", "user", "code", "problem"]),
        );
        if (check) await out.note(checkNote(check));
        if (check && check.problemCounts.length > 0) session.exitCode = exitCodes.refused;
      }),
    );
};

const problemCells = ({ line, userId, code, message }: BulkGrantProblem) => [
  line,
  userId,
  code,
  message,
];

function checkNote({ rowCount, totalPoints, alreadyGrantedCount, ...check }: SheetCheck): string {
  const counts = check.problemCounts.map(({ code, rowCount }) => `${rowCount} × ${code}`);
  return [
    `${counted(rowCount, "row")}, ${counted(totalPoints, "point")}`,
    ...(alreadyGrantedCount > 0
      ? [`${counted(alreadyGrantedCount, "row is", "rows are")} granted already`]
      : []),
    ...(check.trimmedUserIdCount > 0
      ? [`blanks taken away from user ids: ${check.trimmedUserIdCount}`]
      : []),
    ...(check.sameContentBulkGrantId ? [`the same rows as ${check.sameContentBulkGrantId}`] : []),
    counts.length > 0 ? `problems: ${counts.join(", ")}` : "nothing is wrong",
  ].join("; ");
}

export const addSubmit: AddCommand = (parent, inSession) => {
  parent
    .command("submit")
    .summary("submit a sheet, to be checked and approved")
    .description(
      "Submits a sheet as a new bulk grant, or as the next revision of one that was invalid, " +
        "rejected or cancelled, or had failures. Rows that are granted already are skipped. " +
        "Sending the same sheet again changes nothing; of one that has ended without granting, " +
        "--replaced-revision makes the next revision.",
    )
    .argument("<id>", "the id of the bulk grant, which you choose")
    .argument("<file>", fileHelp)
    .addOption(programOption())
    .option("--title <title>", "what people call it, in any script; 96 bytes are kept", "")
    .addOption(causeOption())
    .addOption(expireMonthOption())
    .option("--at <time>", `grant at ${timeFormat}; as soon as approved by default`, readTime)
    .option("--replaced-revision <number>", "make a revision of the same content", readCount, 0)
    .option("--wait", "follow it to its end, as meguri bulk watch does")
    .addHelpText(
      "after",
      examples(
        "meguri bulk submit spring sheet.csv --wait",
        "cat rows.csv | meguri bulk submit spring -",
      ),
    )
    .action(
      inSession(async (session, bulkGrantId, file, options) => {
        const { out } = session;
        const { program: programId, title, cause = "", at, replacedRevision } = options;
        const { expireMonth = "" } = options;
        const time = at && { executeTime: at };
        // "+2h" would be another time in the next try, and so another content.
        if (at) session.repeatWith = `--at ${timestampDate(at).toISOString()}`;
        const fixed = { programId, bulkGrantId, title, cause, replacedRevision, expireMonth };
        const header = { ...fixed, ...time };
        const answer = await upload(session, header, file);
        await out.message(
          UploadBulkGrantResponseSchema,
          answer,
          () => `${aboutBulkGrant(answer.bulkGrant)}\n`,
        );
        const isSubmitted = await reportSubmission(session, answer);
        if (options.wait && isSubmitted) await follow(session, { programId, bulkGrantId });
      }),
    );
};

type Header = Parameters<Session["meguri"]["uploadBulkGrant"]>[0];

/** Sends a sheet and shows the progress. */
export async function upload(
  session: Session,
  header: Header,
  file: string,
): Promise<UploadBulkGrantResponse> {
  const { meguri, out, io, call } = session;
  if (file === "-" && io.stdin.isTTY) await out.note("type the sheet; Ctrl-D ends it");
  const csv = await readSheet(io, file);
  if (!out.isTerminal) {
    await out.note(`uploading ${counted(csv.length, "byte")}`);
    return await meguri.uploadBulkGrant(header, { csv }, call);
  }
  const bar = createBar(io, "{bar} {value} of {total} bytes uploaded");
  bar.start(csv.length, 0);
  const onProgress = (sent: number) => bar.update(sent);
  try {
    const answer = await meguri.uploadBulkGrant(header, { csv }, { ...call, onProgress });
    bar.update(csv.length);
    return answer;
  } finally {
    bar.stop();
  }
}

/** The most bytes that a sheet has, by the API. */
const maxSheetBytes = 32 * 1024 * 1024;

/** Reads the whole sheet, because it is sent again when the connection breaks. */
async function readSheet({ stdin, signal }: Io, file: string): Promise<Uint8Array> {
  const isStdin = file === "-";
  const chunks: Uint8Array[] = [];
  let size = 0;
  async function keep(source: AsyncIterable<string | Buffer>): Promise<void> {
    for await (const chunk of source) {
      const bytes = Buffer.from(chunk);
      chunks.push(bytes);
      size += bytes.length;
      if (size > maxSheetBytes) throw new Error("a sheet has at most 32 MiB");
    }
  }
  try {
    await pipeline(isStdin ? stdin : createReadStream(file), keep, { signal });
  } catch (error) {
    throw new UsageError(`${isStdin ? "standard input" : file}: ${(error as Error).message}`);
  }
  return Buffer.concat(chunks);
}
