/** The commands that read accounts: balance and ledger. */
import { Option } from "@commander-js/extra-typings";
import {
  type Balance,
  GetBalanceResponseSchema,
  type LedgerEntry,
  LedgerEntry_TypeSchema,
  LedgerEntrySchema,
  ListLedgerEntriesRequest_Order as Order,
} from "@meguri/client/points";
import { type AddCommand, examples } from "./action.ts";
import { callerText } from "./callers.ts";
import { addLedgerExport } from "./ledger-export.ts";
import { addGrep } from "./ledger-grep.ts";
import {
  enumName,
  enumValue,
  pastTimeFormat,
  programOption,
  readTime,
  typesOption,
} from "./options.ts";
import type { Columns, Output } from "./output.ts";
import { pagesOf } from "./pages.ts";

export const addBalance: AddCommand = (parent, inSession) => {
  parent
    .command("balance")
    .summary("show the points of a user")
    .description(
      "Shows the points that a user has now, when they expire, and how many are held besides. A " +
        "user without an account has 0 points.",
    )
    .argument("<user>", "the user")
    .addOption(programOption())
    .addOption(pendingOption())
    .option("--as-of <time>", `what the user had at ${pastTimeFormat}`, readTime)
    .addHelpText(
      "after",
      examples("meguri balance alice", "meguri balance alice --as-of 2026-11-01T00:00+09:00"),
    )
    .action(
      inSession(async ({ meguri, out, call }, userId, options) => {
        const { program: programId, pending: includePending, asOf } = options;
        const request = { programId, userId, includePending, ...(asOf && { asOf }) };
        const answer = await meguri.points.getBalance(request, call);
        await out.message(GetBalanceResponseSchema, answer, ({ balance, final }) =>
          balance
            ? balanceText(out, balance, includePending) + (asOf && !final ? notFinal : "")
            : "",
        );
      }),
    );
};

const notFinal =
  "This is not final: a write that is under way may change it within 16 minutes of the time.\n";

const pendingOption = () =>
  new Option("--pending", "also show the points that are reserved and not granted yet")
    .default(false)
    .conflicts("asOf");

function balanceText(
  out: Output,
  { availablePoints, heldPoints, pendingPoints, frozen, totals, buckets }: Balance,
  hasPending: boolean,
): string {
  const fields = out.table([
    ["available", availablePoints],
    ["held", heldPoints],
    ...(hasPending ? [["pending", pendingPoints]] : []),
    ["frozen", frozen],
    ["issued", totals?.issuedPoints],
    ["used", totals?.usedPoints],
    ["expired", totals?.expiredPoints],
    ["refunded", totals?.refundedPoints],
    ["revoked", totals?.revokedPoints],
    ["captured", totals?.capturedPoints],
  ]);
  const months = buckets.map(({ month, points, expireTime }) => [month, points, expireTime]);
  return fields + (months.length > 0 ? out.table(months, ["month", "points", "expires"]) : "");
}

const entryColumns: Columns<LedgerEntry> = {
  number: ({ number }) => number,
  time: ({ effectiveTime }) => effectiveTime,
  type: ({ type }) => enumName(LedgerEntry_TypeSchema, type),
  points: ({ points }) => points,
  balance: ({ availablePoints }) => availablePoints,
  event: ({ event }) => event?.eventId,
  caller: ({ caller }) => caller && callerText(caller),
  reason: ({ reason }) => reason,
  cause: ({ cause }) => cause,
};

export const addLedger: AddCommand = (parent, inSession) => {
  const ledger = parent
    .command("ledger")
    .summary("list what has happened to accounts, or search it in exports")
    .description("Lists the events of an account; exports ledgers, and searches exports.")
    .addHelpText("after", examples("meguri ledger alice", "meguri ledger list --help"));
  addLedgerExport(ledger, inSession);
  addGrep(ledger, inSession);
  ledger
    .command("list", { isDefault: true })
    .summary("list what has happened to an account; list may be left out")
    .description("Lists the events of an account, newest first.")
    .argument("<user>", "the user")
    .addOption(programOption())
    .addOption(typesOption())
    .option("--since <time>", `only what was recorded since ${pastTimeFormat}`, readTime)
    .option("--until <time>", "only what was recorded before this time", readTime)
    .option("--oldest-first", "begin with the first event")
    .addHelpText("after", examples("meguri ledger alice | head", "meguri ledger alice --type USED"))
    .action(
      inSession(async ({ meguri, out, call }, userId, options) => {
        const { program: programId, type = [], since, until, oldestFirst } = options;
        const request = {
          programId,
          userId,
          types: type.map((name) => enumValue(LedgerEntry_TypeSchema, name)),
          order: oldestFirst ? Order.OLDEST_FIRST : Order.NEWEST_FIRST,
          ...(since && { createTimeFrom: since }),
          ...(until && { createTimeBefore: until }),
        };
        const pages = pagesOf(async (page) => {
          const answer = await meguri.points.listLedgerEntries({ ...request, ...page }, call);
          return [answer.entries, answer.nextPageToken];
        });
        await out.list(LedgerEntrySchema, pages, entryColumns);
      }),
    );
};
