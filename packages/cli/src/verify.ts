/** The command that compares accounts with their ledgers. */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type ProgramVerification,
  ProgramVerificationSchema,
  ProgramVerification_State as State,
  ProgramVerification_StateSchema as StateSchema,
  type VerifyAccountResponse,
  VerifyAccountResponseSchema,
} from "@meguri/client/points";
import { type AddCommand, examples } from "./action.ts";
import { counted, nounFor } from "./counted.ts";
import { exitCodes } from "./exit-codes.ts";
import { enumName, programOption } from "./options.ts";
import type { Cell } from "./output.ts";
import type { Session } from "./session.ts";

export const addVerify: AddCommand = (parent, inSession) => {
  parent
    .command("verify")
    .summary("compare an account, or all of a program, with the ledger")
    .description(
      "Compares an account with its ledger and shows what differs. Without a user it compares " +
        "all accounts of the program and waits for the end; Ctrl-C ends only the waiting. " +
        "An account with a long ledger needs a longer --timeout. With --repair it sets what " +
        "differs to what the ledger says, and leaves an account alone whose ledger is damaged.",
    )
    .argument("[user]", "the user; without one, the whole program")
    .addOption(programOption())
    .option("--repair", "set the accounts that differ to what their ledgers say", false)
    .addHelpText(
      "after",
      examples(
        "meguri verify alice",
        "meguri verify alice --repair",
        "meguri verify -p shop --repair",
      ),
    )
    .action(
      inSession(async (session, userId, { program: programId, repair }) => {
        if (userId === undefined) await verifyProgram(session, { programId, repair });
        else await verifyAccount(session, { programId, userId, repair });
      }),
    );
};

async function verifyAccount(
  session: Session,
  request: { readonly programId: string; readonly userId: string; readonly repair: boolean },
): Promise<void> {
  const { meguri, out, call } = session;
  const answer = await meguri.points.verifyAccount(request, call);
  const { differences } = answer;
  await out.message(VerifyAccountResponseSchema, answer, () =>
    out.table(
      differences.map(({ field, expected, actual }) => [field, expected, actual]),
      ["field", "by the ledger", "in the account"],
    ),
  );
  await out.note(accountNote(request.userId, answer));
  if (differences.length > 0 && !isRepaired(answer)) session.exitCode = exitCodes.refused;
}

const isRepaired = ({ repaired, restoredEntryNumbers }: VerifyAccountResponse): boolean =>
  repaired || restoredEntryNumbers.length > 0;

function accountNote(userId: string, answer: VerifyAccountResponse): string {
  const { differences, unreportedDifferenceCount, entryCount } = answer;
  const count = BigInt(differences.length) + unreportedDifferenceCount;
  const entries = counted(entryCount, "entry", "entries");
  if (count === 0n) return `${userId}: agrees with the ${entries} of the ledger`;
  const next = isRepaired(answer) ? "repaired" : "meguri verify --repair corrects the account";
  return `${userId}: ${counted(count, "difference")} in ${entries}; ${next}`;
}

/** How often the progress of a run is read. */
const pollMs = 1_000;

async function verifyProgram(
  session: Session,
  { programId, repair }: { readonly programId: string; readonly repair: boolean },
): Promise<void> {
  const { meguri, out, call } = session;
  let { verification } = await meguri.points.verifyProgram({ programId, repair }, call);
  while (verification?.state === State.RUNNING) {
    await out.note(programNote(verification));
    await sleep(pollMs, undefined, call);
    ({ verification } = await meguri.points.getProgramVerification({ programId }, call));
  }
  if (verification === undefined) return;
  await out.message(ProgramVerificationSchema, verification, () =>
    out.table(findings(verification), ["user", "field", "by the ledger", "in the account"]),
  );
  await out.note(programNote(verification));
  const { state, wrongAccountCount, repairedAccountCount, failedAccountCount } = verification;
  const leftCount = wrongAccountCount - repairedAccountCount + failedAccountCount;
  if (state !== State.DONE || leftCount > 0n) session.exitCode = exitCodes.refused;
}

function findings({ reports, failures }: ProgramVerification): Cell[][] {
  return [
    ...reports.flatMap(({ userId, differences }) =>
      differences.map(({ field, expected, actual }) => [userId, field, expected, actual]),
    ),
    ...failures.map(({ userId, reason }) => [userId, reason, undefined, undefined]),
  ];
}

function programNote(verification: ProgramVerification): string {
  const { programId, accountCount, repair } = verification;
  const { wrongAccountCount: wrong, repairedAccountCount: repaired } = verification;
  const { failedAccountCount: failed } = verification;
  const state = enumName(StateSchema, verification.state);
  const compared = `${programId}: ${state}, ${counted(accountCount, "account")} compared`;
  return repair
    ? `${compared}, ${wrong} differed, ${repaired} repaired, ` +
        `${failed} could not be compared or repaired`
    : `${compared}, ${wrong} ${nounFor(wrong, "differs", "differ")}, ` +
        `${failed} could not be compared`;
}
