/** The commands that decide about a bulk grant: approve and reject. They show it, and ask. */
import {
  type BulkGrant,
  BulkGrantService,
  BulkGrant_State as State,
} from "@meguri/client/bulk-grants";
import { readScreen, type Screen } from "./bulk-screen.ts";
import { aboutBulkGrant, decisionText, detailsOf, stateText } from "./bulk-text.ts";
import { says } from "./command.ts";
import { agree, askReason, expectTerminal, refuse } from "./confirm.ts";
import { changeReason, bulkGrant as id, program } from "./options.ts";
import { line } from "./output.ts";
import type { Session } from "./session.ts";

const { method } = BulkGrantService;

export const approve = says(method.approveBulkGrant, {
  summary: "approve a bulk grant of somebody else",
  description:
    "Approves exactly what was checked: it shows who grants what, with its warnings and the " +
    "digest, and asks. The answer d shows everything. Without a terminal, and with --json, it " +
    "needs the digest as an option, and approves nothing else. The submitter cannot approve.",
  takes: [
    id,
    program,
    "--digest <digest> = digest: the digest of what was checked; then it does not ask",
    changeReason,
  ],
  examples: ["MEGURI_CALLER=mika meguri bulk approve spring"],
  async prepare(session, request, values) {
    const read = await readForDecision(session, request);
    if (read === undefined) return false;
    const { bulkGrant, screen } = read;
    const question = `${decisionText(bulkGrant, "approve")}?`;
    await screen.showFirst(question);
    if (values.digest !== undefined) return true;
    request.digest = bulkGrant.digest;
    expectTerminal(session, `bulk approve needs --digest; here it is ${bulkGrant.digest}`);
    const otherwise = "not approved";
    if (!(await isWaiting(session, bulkGrant, otherwise))) return false;
    return (
      (await agree(session, question, otherwise, screen.showAll)) &&
      (await askReason(session, request, { isNeeded: false, otherwise }))
    );
  },
  text: ({ bulkGrant }) => line(aboutBulkGrant(bulkGrant)),
});

export const reject = says(method.rejectBulkGrant, {
  summary: "refuse to approve a bulk grant",
  description:
    "Rejects a bulk grant that awaits approval. A corrected sheet can follow. Without a reason " +
    "it shows what bulk approve shows, and asks for one; without a terminal, and with --json, it " +
    "needs the reason as an option.",
  takes: [id, program, changeReason],
  examples: ["meguri bulk reject spring --reason 'wrong month'", "meguri bulk reject spring"],
  async prepare(session, request) {
    if (request.reason !== "") return true;
    expectTerminal(session, "bulk reject needs --reason");
    const read = await readForDecision(session, request);
    if (read === undefined) return false;
    const { bulkGrant, screen } = read;
    // A revision that comes while the person reads is not rejected unseen.
    request.digest = bulkGrant.digest;
    const question = `${decisionText(bulkGrant, "reject")}?`;
    await screen.showFirst(question);
    const otherwise = "not rejected";
    return (
      (await isWaiting(session, bulkGrant, otherwise)) &&
      (await agree(session, question, otherwise, screen.showAll)) &&
      (await askReason(session, request, { isNeeded: true, otherwise }))
    );
  },
  text: ({ bulkGrant }) => line(aboutBulkGrant(bulkGrant)),
});

async function readForDecision(
  session: Session,
  { programId, bulkGrantId }: { readonly programId: string; readonly bulkGrantId: string },
): Promise<{ readonly bulkGrant: BulkGrant; readonly screen: Screen } | undefined> {
  const { meguri, call } = session;
  const { bulkGrant } = await meguri.bulkGrants.getBulkGrant({ programId, bulkGrantId }, call);
  return bulkGrant && { bulkGrant, screen: await readScreen(session, bulkGrant) };
}

/** Whether it awaits approval. Of any other one, says what a person can do instead. */
async function isWaiting(session: Session, bulkGrant: BulkGrant, otherwise: string) {
  if (bulkGrant.state === State.AWAITING_APPROVAL) return true;
  await session.out.note(`a bulk grant that is ${stateText(bulkGrant)} waits for no approval`);
  for (const line of await detailsOf(session, bulkGrant)) await session.out.note(line);
  return refuse(session, otherwise);
}
