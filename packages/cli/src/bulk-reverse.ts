/** The command that takes back what a bulk grant has granted. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  type GetBulkGrantResponse,
  ReverseBulkGrantRequestSchema,
  ReverseBulkGrantResponseSchema,
} from "@meguri/client/bulk-grants";
import { facts, textsOf } from "./bulk-show.ts";
import { aboutBulkGrant, amount, reportSubmission, shortName } from "./bulk-text.ts";
import { runs } from "./command.ts";
import { agree, expectTerminal } from "./confirm.ts";
import { linesOf } from "./fields.ts";
import { write } from "./io.ts";
import { cause, changeReason, program, replacedRevision, timeFormat, title } from "./options.ts";
import { line, printable } from "./output.ts";
import type { Session } from "./session.ts";

export const reverse = runs(ReverseBulkGrantRequestSchema, {
  summary: "take back what a bulk grant has granted",
  description:
    "Submits a bulk grant that revokes what another one has granted, as far as the points are " +
    "still there. It shows what was granted, and asks; with --force it does not. While the other " +
    "one is being cancelled, it waits for its end. A reversal is checked and approved like any " +
    "bulk grant.",
  takes: [
    "<id> = bulkGrantId: the id of the reversal, which you choose",
    "<reversed-id> = reversedBulkGrantId: the bulk grant whose points are taken back",
    program,
    title,
    changeReason,
    cause,
    `--at <time> = executeTime: revoke at ${timeFormat}; as soon as approved by default`,
    replacedRevision,
    "--force: submit it without a question",
  ],
  examples: ["meguri bulk reverse spring-back spring"],
  async run(session, request, { force }) {
    const { meguri, out, io, call } = session;
    const { programId, reversedBulkGrantId: bulkGrantId, executeTime } = request;
    const reversed = await readEnded(session, { programId, bulkGrantId });
    if (reversed.bulkGrant === undefined) return;
    if (!out.isJson) await write(io.stderr, out.table(textsOf(linesOf(facts, reversed.bulkGrant))));
    if (!force) {
      expectTerminal(session, "bulk reverse needs --force");
      const points = amount(grantedPoints(reversed), "point");
      const question = `Take back up to ${points} of ${shortName(reversed.bulkGrant)}?`;
      if (!(await agree(session, question, "not submitted"))) return;
    }
    // "+2h" would be another time in the next try, and so another content.
    if (executeTime) {
      session.repeatWith = `--at ${timestampDate(executeTime).toISOString()} --force`;
    }
    const answer = await meguri.bulkGrants.reverseBulkGrant(request, call);
    await out.message(ReverseBulkGrantResponseSchema, answer, () =>
      line(aboutBulkGrant(answer.bulkGrant)),
    );
    await reportSubmission(session, answer);
  },
});

/** Reads a bulk grant. While it is being cancelled, waits for the end of its run first. */
async function readEnded(
  { meguri, out, call }: Session,
  name: { readonly programId: string; readonly bulkGrantId: string },
): Promise<GetBulkGrantResponse> {
  const found = await meguri.bulkGrants.getBulkGrant(name, call);
  if (!found.bulkGrant?.cancelRequest) return found;
  const waits = "is being cancelled; waits until the rows under way are counted";
  await out.note(printable(`${name.bulkGrantId} ${waits}`));
  for await (const { bulkGrant } of meguri.watchBulkGrant(name, call)) {
    if (bulkGrant && !bulkGrant.cancelRequest) break;
  }
  return meguri.bulkGrants.getBulkGrant(name, call);
}

/** The points that the current revision and, of its rows, the earlier ones have granted. */
const grantedPoints = ({ bulkGrant, progress }: GetBulkGrantResponse): bigint =>
  (bulkGrant?.alreadyGrantedPoints ?? 0n) + (progress?.grantedPoints ?? 0n);
