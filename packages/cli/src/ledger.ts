/** The commands about ledgers: what has happened, exports, and comparisons with accounts. */
import {
  ExportLedgerRequestSchema,
  type LedgerEntry,
  type LedgerExport,
  LedgerExportSchema,
  ListLedgerEntriesRequest_Order as Order,
  PointsService,
  type ProgramVerification,
  ProgramVerificationSchema,
  ProgramJob_State as State,
  type VerifyAccountRequest,
  VerifyAccountRequestSchema,
  type VerifyAccountResponse,
  VerifyAccountResponseSchema,
} from "@meguri/client/points";
import { jobState, untilEnded } from "./calls.ts";
import { type Commands, lists, runs } from "./command.ts";
import { grep } from "./ledger-grep.ts";
import { entryTypes, program, recordedSince, recordedUntil } from "./options.ts";
import { type Cell, nounFor, quantity } from "./output.ts";
import { conclude, type Session } from "./session.ts";

export const ledgers: Commands = {
  export: runs(ExportLedgerRequestSchema, {
    summary: "write the ledgers of a program to files",
    description:
      "Writes what was recorded in all ledgers of a program between two times to files of a " +
      "destination that the operators have configured, and waits for the end; Ctrl-C ends only " +
      "the waiting. The same command joins the same export, or shows it when it is done.",
    takes: [
      "<id> = jobId: the id of the export, which names its folder, such as 2026-10",
      program,
      ["--to <destination> = destination: the name of the destination", { isRequired: true }],
      recordedSince,
      [
        "--until <time> = createTimeBefore: only what was recorded before this time, 16 minutes " +
          "ago at the latest",
        { isRequired: true },
      ],
    ],
    examples: [
      "meguri ledger export 2026-10 -p shop --to audit \\",
      "  --since 2026-10-01T00:00+09:00 --until 2026-11-01T00:00+09:00",
    ],
    async run(session, request) {
      const { meguri, out, call } = session;
      const { programId, jobId } = request;
      const { ledgerExport } = await meguri.points.exportLedger(request, call);
      const read = async () =>
        (await meguri.points.getLedgerExport({ programId, jobId }, call)).ledgerExport;
      const found = await untilEnded(session, exportNote, ledgerExport, read);
      if (found === undefined) return;
      await out.message(LedgerExportSchema, found, ({ unreadableEntries }) =>
        out.table(
          unreadableEntries.map(({ userId, number }) => [userId, number]),
          ["user", "unreadable entry"],
        ),
      );
      const isWhole = found.job?.state === State.DONE && found.unreadableEntryCount === 0n;
      await conclude(session, exportNote(found), isWhole);
    },
  }),

  grep,

  list: lists<LedgerEntry>(PointsService.method.listLedgerEntries, {
    isDefault: true,
    summary: "list what has happened to an account; list may be left out",
    description: "Lists the events of an account, newest first.",
    takes: [
      "<user> = userId: the user",
      program,
      entryTypes,
      recordedSince,
      recordedUntil,
      ["--oldest-first = order: begin with the first event", { on: Order.OLDEST_FIRST }],
    ],
    examples: ["meguri ledger alice | head", "meguri ledger alice --type USED"],
    columns: [
      "number, time: effectiveTime, type, points, balance: availablePoints, event: event.eventId",
      "caller, reason, cause",
    ],
  }),
};

const exportNote = ({ job, ...found }: LedgerExport): string =>
  `${found.destination}/${found.folder}: ${jobState(job)}, ` +
  (job?.state === State.FAILED
    ? `the run ${job.workflowId} in Temporal says why`
    : `${quantity(found.entryCount, "entry", "entries")} in ` +
      `${quantity(found.partCount, "part")}, ` +
      `${found.unreadableEntryCount} could not be read`);

export const verify = runs(VerifyAccountRequestSchema, {
  summary: "compare an account, or all of a program, with the ledger",
  description:
    "Compares an account with its ledger and shows what differs. Without a user it compares all " +
    "accounts of the program and waits for the end; Ctrl-C ends only the waiting. An account " +
    "with a long ledger needs a longer --timeout. With --repair it sets what differs to what the " +
    "ledger says, and leaves an account alone whose ledger is damaged.",
  takes: [
    "[user] = userId: the user; without one, the whole program",
    program,
    "--repair = repair: set the accounts that differ to what their ledgers say",
    "--id <id>: the id of the verification of a program; by default this time",
  ],
  examples: [
    "meguri verify alice",
    "meguri verify alice --repair",
    "meguri verify -p shop --repair",
  ],
  run: (session, request, { user, id }) =>
    user === undefined
      ? verifyProgram(session, request, id as string | undefined)
      : verifyAccount(session, request),
});

async function verifyAccount(session: Session, request: VerifyAccountRequest): Promise<void> {
  const { meguri, out, call } = session;
  const answer = await meguri.points.verifyAccount(request, call);
  const { differences } = answer;
  await out.message(VerifyAccountResponseSchema, answer, () =>
    out.table(
      differences.map(({ field, expected, actual }) => [field, expected, actual]),
      ["field", "by the ledger", "in the account"],
    ),
  );
  const agrees = differences.length === 0 || isRepaired(answer);
  await conclude(session, accountNote(request.userId, answer), agrees);
}

const isRepaired = ({ repaired, restoredEntryNumbers }: VerifyAccountResponse): boolean =>
  repaired || restoredEntryNumbers.length > 0;

function accountNote(userId: string, answer: VerifyAccountResponse): string {
  const { differences, unreportedDifferenceCount, entryCount } = answer;
  const count = BigInt(differences.length) + unreportedDifferenceCount;
  const entries = quantity(entryCount, "entry", "entries");
  if (count === 0n) return `${userId}: agrees with the ${entries} of the ledger`;
  const next = isRepaired(answer) ? "repaired" : "meguri verify --repair corrects the account";
  return `${userId}: ${quantity(count, "difference")} in ${entries}; ${next}`;
}

async function verifyProgram(
  session: Session,
  { programId, repair }: VerifyAccountRequest,
  jobId = new Date().toISOString(),
): Promise<void> {
  const { meguri, out, call } = session;
  const { verification } = await meguri.points.verifyProgram({ programId, jobId, repair }, call);
  const read = async () =>
    (await meguri.points.getProgramVerification({ programId, jobId }, call)).verification;
  const found = await untilEnded(session, verificationNote, verification, read);
  if (found === undefined) return;
  await out.message(ProgramVerificationSchema, found, () =>
    out.table(findings(found), ["user", "field", "by the ledger", "in the account"]),
  );
  const { job, wrongAccountCount, repairedAccountCount, failedAccountCount } = found;
  const leftCount = wrongAccountCount - repairedAccountCount + failedAccountCount;
  await conclude(session, verificationNote(found), job?.state === State.DONE && leftCount <= 0n);
}

const findings = ({ reports, failures }: ProgramVerification): Cell[][] => [
  ...reports.flatMap(({ userId, differences }) =>
    differences.map(({ field, expected, actual }) => [userId, field, expected, actual]),
  ),
  ...failures.map(({ userId, reason }) => [userId, reason, undefined, undefined]),
];

function verificationNote(verification: ProgramVerification): string {
  const { job, accountCount, repair } = verification;
  const { wrongAccountCount: wrong, repairedAccountCount: repaired } = verification;
  const { failedAccountCount: failed } = verification;
  const accounts = quantity(accountCount, "account");
  const compared = `${job?.programId}: ${jobState(job)}, ${accounts} compared`;
  return repair
    ? `${compared}, ${wrong} differed, ${repaired} repaired, ` +
        `${failed} could not be compared or repaired`
    : `${compared}, ${wrong} ${nounFor(wrong, "differs", "differ")}, ` +
        `${failed} could not be compared`;
}
