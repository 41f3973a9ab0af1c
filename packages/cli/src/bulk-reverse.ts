/** The command that submits the reversal of a bulk grant, after its points were shown. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  type BulkGrant,
  type BulkGrantProgress,
  ReverseBulkGrantResponseSchema,
} from "@meguri/client/bulk-grants";
import { type AddCommand, examples } from "./action.ts";
import { reportSubmission } from "./bulk-submission.ts";
import { aboutBulkGrant, stateText } from "./bulk-text.ts";
import { callerText } from "./callers.ts";
import { confirm } from "./confirm.ts";
import { counted } from "./counted.ts";
import { UsageError } from "./errors.ts";
import { exitCodes } from "./exit-codes.ts";
import { write } from "./io.ts";
import { causeOption, programOption, readCount, readTime, timeFormat } from "./options.ts";
import type { Cell } from "./output.ts";

export const addReverse: AddCommand = (parent, inSession) => {
  parent
    .command("reverse")
    .summary("take back what a bulk grant has granted")
    .description(
      "Submits a bulk grant that revokes what another one has granted, as far as the points are " +
        "still there. It shows what was granted, and asks; with --force it does not. A reversal " +
        "is checked and approved like any bulk grant.",
    )
    .argument("<id>", "the id of the reversal, which you choose")
    .argument("<reversed-id>", "the bulk grant whose points are taken back")
    .addOption(programOption())
    .option("--title <title>", "what people call it, in any script; 96 bytes are kept", "")
    .addOption(causeOption())
    .option("--at <time>", `revoke at ${timeFormat}; as soon as approved by default`, readTime)
    .option("--replaced-revision <number>", "make a revision of the same content", readCount, 0)
    .option("--force", "submit it without a question")
    .addHelpText("after", examples("meguri bulk reverse spring-back spring"))
    .action(
      inSession(async (session, bulkGrantId, reversedBulkGrantId, options) => {
        const { meguri, out, io, call } = session;
        const { program: programId, title, cause = "", at, replacedRevision } = options;
        const reversed = await meguri.bulkGrants.getBulkGrant(
          { programId, bulkGrantId: reversedBulkGrantId },
          call,
        );
        const { bulkGrant, progress } = reversed;
        if (bulkGrant === undefined) return;
        if (!out.isJson) await write(io.stderr, out.table(facts(bulkGrant, progress)));
        if (!options.force) {
          if (out.isJson || !io.stdin.isTTY) {
            const where = out.isJson ? "with --json" : "without a terminal";
            throw new UsageError(`${where}, bulk reverse needs --force`);
          }
          const points = counted(grantedPoints(bulkGrant, progress), "point");
          const question = `Take back up to ${points}?`;
          if (!(await confirm(io, question))) {
            await out.note("not submitted");
            session.exitCode = exitCodes.refused;
            return;
          }
        }
        // "+2h" would be another time in the next try, and so another content.
        if (at) session.repeatWith = `--at ${timestampDate(at).toISOString()} --force`;
        const name = { programId, bulkGrantId, reversedBulkGrantId };
        const request = { ...name, title, cause, replacedRevision, ...(at && { executeTime: at }) };
        const answer = await meguri.bulkGrants.reverseBulkGrant(request, call);
        await out.message(
          ReverseBulkGrantResponseSchema,
          answer,
          () => `${aboutBulkGrant(answer.bulkGrant)}\n`,
        );
        await reportSubmission(session, answer);
      }),
    );
};

/** What the current revision and, of its rows, the earlier ones have granted. */
const grantedPoints = (
  { alreadyGrantedPoints }: BulkGrant,
  progress: BulkGrantProgress | undefined,
): bigint => alreadyGrantedPoints + (progress?.grantedPoints ?? 0n);

const facts = (bulkGrant: BulkGrant, progress: BulkGrantProgress | undefined): Cell[][] => [
  ["reversed", bulkGrant.bulkGrantId],
  ["title", bulkGrant.title],
  ["cause", bulkGrant.cause],
  ["state", stateText(bulkGrant)],
  ["revision", bulkGrant.revision],
  ["rows", bulkGrant.rowCount],
  ["granted rows", bulkGrant.alreadyGrantedCount + (progress?.grantedCount ?? 0)],
  ["granted points", grantedPoints(bulkGrant, progress)],
  ["submitter", bulkGrant.submitter && callerText(bulkGrant.submitter)],
];
