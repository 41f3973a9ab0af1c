/** The commands that show a bulk grant and ask: approve, and reverse. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  type BulkGrant,
  BulkGrantService,
  type GetBulkGrantResponse,
  ReverseBulkGrantRequestSchema,
  ReverseBulkGrantResponseSchema,
  BulkGrant_State as State,
} from "@meguri/client/bulk-grants";
import { facts, readSummary, summaryCells } from "./bulk-show.ts";
import { aboutBulkGrant, detailsOf, reportSubmission, stateText } from "./bulk-text.ts";
import { runs, says } from "./command.ts";
import { agree, expectTerminal, refuse } from "./confirm.ts";
import { linesOf } from "./fields.ts";
import { write } from "./io.ts";
import {
  cause,
  changeReason,
  bulkGrant as id,
  program,
  replacedRevision,
  timeFormat,
  title,
} from "./options.ts";
import { line, printable, quantity } from "./output.ts";
import type { Session } from "./session.ts";

export const approve = says(BulkGrantService.method.approveBulkGrant, {
  summary: "approve a bulk grant of somebody else",
  description:
    "Approves exactly what was checked: it shows the summary with its warnings and the digest, " +
    "and asks. Without a terminal, and with --json, it needs the digest as an option, and " +
    "approves nothing else. The submitter cannot approve.",
  takes: [
    id,
    program,
    "--digest <digest> = digest: the digest of what was checked; then it does not ask",
    changeReason,
  ],
  examples: ["MEGURI_CALLER=mika meguri bulk approve spring"],
  async prepare(session, request, values) {
    const { meguri, out, io, call } = session;
    const { programId, bulkGrantId } = request;
    const { bulkGrant } = await meguri.bulkGrants.getBulkGrant({ programId, bulkGrantId }, call);
    if (bulkGrant === undefined) return false;
    if (!out.isJson) {
      const summary = await readSummary(session, bulkGrant);
      const lines = [...linesOf(facts, bulkGrant), ...summaryCells(summary)];
      await write(io.stderr, out.table([...lines, ["digest", bulkGrant.digest]]));
    }
    if (values.digest !== undefined) return true;
    request.digest = bulkGrant.digest;
    expectTerminal(session, `bulk approve needs --digest; here it is ${bulkGrant.digest}`);
    if (bulkGrant.state === State.AWAITING_APPROVAL) {
      return agree(session, questionOf(bulkGrant), "not approved");
    }
    await out.note(`a bulk grant that is ${stateText(bulkGrant)} cannot be approved`);
    for (const line of await detailsOf(session, bulkGrant)) await out.note(line);
    return refuse(session, "not approved");
  },
  text: ({ bulkGrant }) => line(aboutBulkGrant(bulkGrant)),
});

const questionOf = ({ reversedBulkGrantId, totalPoints }: BulkGrant): string =>
  reversedBulkGrantId
    ? printable(
        `Approve to take back up to ${quantity(totalPoints, "point")} of ${reversedBulkGrantId}?`,
      )
    : `Approve ${quantity(totalPoints, "point")}?`;

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
    if (!out.isJson) await write(io.stderr, out.table(linesOf(facts, reversed.bulkGrant)));
    if (!force) {
      expectTerminal(session, "bulk reverse needs --force");
      const question = `Take back up to ${quantity(grantedPoints(reversed), "point")}?`;
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
