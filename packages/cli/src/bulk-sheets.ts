/** The commands that send a sheet: to be checked, compared or granted. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type BulkGrant,
  type UploadBulkGrantRequest_Header as Header,
  UploadBulkGrantRequest_HeaderSchema as HeaderSchema,
  type SheetCheck,
  SheetCheckSchema,
  type UploadBulkGrantResponse,
  UploadBulkGrantResponseSchema,
} from "@meguri/client/bulk-grants";
import { EventOrigin } from "@meguri/client/points";
import { aboutBulkGrant, reportSubmission, warningLines } from "./bulk-text.ts";
import { createBar, followToEnd } from "./bulk-watch.ts";
import { runs } from "./command.ts";
import { UsageError } from "./errors.ts";
import { type Io, write } from "./io.ts";
import {
  bulkGrant,
  cause,
  encoding,
  expireMonth,
  program,
  replacedRevision,
  sheet,
  skipZero,
  timeFormat,
  title,
} from "./options.ts";
import { line, printable, quantity } from "./output.ts";
import { conclude, type Session } from "./session.ts";

export const check = runs(HeaderSchema, {
  summary: "check a sheet, and keep nothing",
  description:
    "Checks a sheet as if it were submitted, and lists what is wrong with its rows. The exit " +
    "code is 0 if nothing is.",
  takes: [
    "<id> = bulkGrantId: the bulk grant to which it would be submitted",
    sheet,
    program,
    expireMonth,
    encoding,
    skipZero,
  ],
  examples: ["meguri bulk check spring sheet.csv"],
  async run(session, header, { file }) {
    const { out, io } = session;
    header.validateOnly = true;
    const { check } = await upload(session, header, file as string);
    await out.message(SheetCheckSchema, check, ({ problems }) =>
      out.table(
        problems.map(({ line, userId, code, message }) => [line, userId, code, message]),
        ["line", "user", "code", "problem"],
      ),
    );
    if (check === undefined) return;
    if (check.reading) await out.note(printable(check.reading.text));
    if (!out.isJson) await write(io.stderr, warningLines(out, check.sheetWarnings));
    await conclude(session, checkNote(check), check.problemCounts.length === 0);
  },
});

function checkNote({ rowCount, totalPoints, alreadyGrantedCount, ...check }: SheetCheck): string {
  const counts = check.problemCounts.map(({ code, rowCount }) => `${rowCount} × ${code}`);
  return [
    `${quantity(rowCount, "row")}, ${quantity(totalPoints, "point")}`,
    ...(alreadyGrantedCount > 0
      ? [`${quantity(alreadyGrantedCount, "row is", "rows are")} granted already`]
      : []),
    ...(check.trimmedUserIdCount > 0
      ? [`blanks taken away from user ids: ${check.trimmedUserIdCount}`]
      : []),
    ...(check.sameContentBulkGrantId ? [`the same rows as ${check.sameContentBulkGrantId}`] : []),
    counts.length > 0 ? `problems: ${counts.join(", ")}` : "nothing is wrong",
  ].join("; ");
}

export const submit = runs(HeaderSchema, {
  summary: "submit a sheet, to be checked and approved",
  description:
    "Submits a sheet as a new bulk grant, or as the next revision of one that was invalid, " +
    "rejected or cancelled, or had failures. Rows that are granted already are skipped. Sending " +
    "the same sheet again changes nothing; of one that has ended without granting, " +
    "--replaced-revision makes the next revision.",
  takes: [
    "<id> = bulkGrantId: the id of the bulk grant, which you choose",
    sheet,
    program,
    title,
    cause,
    expireMonth,
    encoding,
    skipZero,
    [
      `--at <time> = executeTime: grant at ${timeFormat}; as soon as approved by default`,
      { isRepeated: true },
    ],
    replacedRevision,
    "--wait: follow it to its end, as meguri bulk watch does",
  ],
  examples: [
    "meguri bulk submit spring sheet.csv --wait",
    "cat rows.csv | meguri bulk submit spring -",
  ],
  async run(session, header, { file, wait }) {
    const answer = await upload(session, header, file as string);
    await session.out.message(UploadBulkGrantResponseSchema, answer, () =>
      line(aboutBulkGrant(answer.bulkGrant)),
    );
    if (answer.reading) await session.out.note(printable(answer.reading.text));
    const isSubmitted = await reportSubmission(session, answer);
    if (wait && isSubmitted) await followToEnd(session, header, true);
  },
});

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
    await out.note(`uploading ${quantity(csv.length, "byte")}`);
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

export const digest = runs(HeaderSchema, {
  summary: "compare a sheet with what is to be approved",
  description:
    "Computes what an approval names from a sheet that you have, and compares it with the " +
    "current revision. The exit code is 0 if the sheet is exactly what the revision holds. The " +
    "server reads the rows as it reads those of a submission, and keeps nothing. So the caller " +
    "needs the scope bulk.submit beside bulk.read.",
  takes: [bulkGrant, sheet, program, encoding, skipZero],
  examples: ["meguri bulk digest spring sheet.csv"],
  async run(session, header, { file }) {
    const { meguri, out, call } = session;
    const { programId, bulkGrantId } = header;
    const found = await meguri.bulkGrants.getBulkGrant({ programId, bulkGrantId }, call);
    header.validateOnly = true;
    const { check } = await upload(session, header, file as string);
    if (found.bulkGrant === undefined || check === undefined) return;
    const { rowsDigest } = check;
    const { revision } = found.bulkGrant;
    const ofSheet = digestOf(found.bulkGrant, rowsDigest);
    const isSame = ofSheet === found.bulkGrant.digest;
    await out.value({ digest: ofSheet, rowsDigest, revision, isSame }, `${ofSheet}\n`);
    const same = `the sheet is exactly what revision ${revision} holds`;
    await conclude(session, isSame ? same : differenceText(found.bulkGrant, check), isSame);
  },
});

/** How a digest names the origins of events. */
const originLetters: Readonly<Record<EventOrigin, string>> = {
  [EventOrigin.UNSPECIFIED]: "",
  [EventOrigin.CALLER]: "c",
  [EventOrigin.RESERVATION]: "r",
  [EventOrigin.BULK_GRANT]: "b",
  [EventOrigin.HOLD]: "h",
  [EventOrigin.EXPIRY]: "x",
};

/** The digest of a bulk grant with these rows: docs/call/bulk-grants.md says over what it is. */
function digestOf(bulkGrant: BulkGrant, rowsDigest: string): string {
  const { executeTime, cause, request } = bulkGrant;
  const event = request?.grantEvent;
  const approved = {
    program_id: bulkGrant.programId,
    bulk_grant_id: bulkGrant.bulkGrantId,
    revision: bulkGrant.revision,
    execute_time_ms: executeTime ? timestampMs(executeTime) : null,
    required_approval_count: bulkGrant.requiredApprovalCount,
    reversed_bulk_grant_id: bulkGrant.reversedBulkGrantId || null,
    ...(bulkGrant.expireMonth && { expire_month: bulkGrant.expireMonth }),
    rows_digest: rowsDigest,
    ...(cause && { cause }),
    ...(event && { grant_event: `${originLetters[event.origin]}:${event.eventId}` }),
  };
  return createHash("sha256").update(JSON.stringify(approved)).digest("base64url");
}

function differenceText(bulkGrant: BulkGrant, check: SheetCheck): string {
  if (check.rowsDigest === bulkGrant.rowsDigest) {
    return `the rows are those of revision ${bulkGrant.revision}, but its digest is another one`;
  }
  if (check.rowCount === 0) {
    return `the sheet cannot be read: ${check.problems.map(({ message }) => message).join("; ")}`;
  }
  if (check.rowCount === bulkGrant.rowCount && check.totalPoints === bulkGrant.totalPoints) {
    return (
      `the sheet is not what revision ${bulkGrant.revision} holds: it has as many rows and ` +
      `points, but other users, other reasons, or another order; meguri bulk rows lists them`
    );
  }
  return (
    `the sheet is not what revision ${bulkGrant.revision} holds: it has ` +
    `${quantity(check.rowCount, "row")} and ${quantity(check.totalPoints, "point")}, ` +
    `the revision ${bulkGrant.rowCount} and ${bulkGrant.totalPoints}`
  );
}
