/** The command that cancels the reservations of a user, or those with a reason and a time. */
import {
  type CancelReservationsResponse,
  CancelReservationsResponseSchema,
} from "@meguri/client/reservations";
import { type AddCommand, examples } from "./action.ts";
import { confirm } from "./confirm.ts";
import { counted, nounFor } from "./counted.ts";
import { UsageError } from "./errors.ts";
import { exitCodes } from "./exit-codes.ts";
import { changeReasonOption, programOption, readTime, timeFormat } from "./options.ts";
import { printable } from "./output.ts";
import type { Session } from "./session.ts";

export const addCancelMany: AddCommand = (parent, inSession) => {
  parent
    .command("cancel-many")
    .summary("cancel the reservations of a user, or those with a reason and a time")
    .description(
      "Shows the reservations that it would cancel, and asks. Without a terminal it only shows " +
        "them. With --force it cancels them at once. They are those whose points are not granted " +
        "yet, also failed ones.",
    )
    .option("--user <user>", "those of this user")
    .option("--reason-prefix <text>", "those whose reason begins with this, of all users")
    .option("--since <time>", `with --reason-prefix: those at or after ${timeFormat}`, readTime)
    .option("--until <time>", "with --reason-prefix: those before this time", readTime)
    .addOption(programOption())
    .addOption(changeReasonOption())
    .option("--force", "cancel them without a question")
    .addHelpText(
      "after",
      examples(
        "meguri reservation cancel-many --user alice --reason 'the user left'",
        "meguri reservation cancel-many --reason-prefix sale --since +0s --until +30d --force",
      ),
    )
    .action(
      inSession(async (session, options) => {
        const { program: programId, reason = "" } = options;
        const cancel = (force: boolean) =>
          cancelPages(session, { programId, filter: readFilter(options), reason, force });
        if (!options.force) {
          const { count, points } = await cancel(false);
          if (count === 0) return;
          if (session.out.isJson || !session.io.stdin.isTTY) {
            return session.out.note("nothing was changed; --force cancels them");
          }
          const question = `Cancel ${sizeOf(count, points)}?`;
          if (!(await confirm(session.io, question))) {
            await session.out.note("not cancelled");
            session.exitCode = exitCodes.refused;
            return;
          }
        }
        const { errors } = await cancel(true);
        if (errors > 0) session.exitCode = exitCodes.retryable;
      }),
    );
};

type CancelRequest = Parameters<Session["meguri"]["reservations"]["cancelReservations"]>[0];

/** The options that select reservations. */
interface Selection {
  readonly user?: string | undefined;
  readonly reasonPrefix?: string | undefined;
  readonly since?: ReturnType<typeof readTime> | undefined;
  readonly until?: ReturnType<typeof readTime> | undefined;
}

function readFilter({ user, reasonPrefix, since, until }: Selection) {
  if ((user === undefined) === (reasonPrefix === undefined)) {
    throw new UsageError("reservation cancel-many needs either --user or --reason-prefix");
  }
  if (user !== undefined) {
    if (since || until) throw new UsageError("--since and --until belong to --reason-prefix");
    return { case: "userId" as const, value: user };
  }
  if (!since || !until) throw new UsageError("--reason-prefix needs --since and --until");
  const value = { reasonPrefix: reasonPrefix ?? "", executeTimeFrom: since };
  return { case: "reasonFilter" as const, value: { ...value, executeTimeBefore: until } };
}

/** Sends the request until all reservations were found, and prints each answer. */
async function cancelPages({ meguri, out, call }: Session, request: CancelRequest) {
  const total = { count: 0, points: 0n, errors: 0 };
  let pageToken = "";
  do {
    const answer = await meguri.reservations.cancelReservations({ ...request, pageToken }, call);
    await out.message(CancelReservationsResponseSchema, answer, () =>
      textOf(answer, request.force === true),
    );
    total.count += answer.cancelledCount;
    total.points += answer.cancelledPoints;
    total.errors += answer.errorCount;
    pageToken = answer.nextPageToken;
  } while (pageToken !== "");
  return total;
}

const sizeOf = (count: number, points: bigint): string =>
  `${counted(count, "reservation")} of ${counted(points, "point")}`;

const skippedText = (count: number): string =>
  `skipped ${count} that ${nounFor(count, "has", "have")} changed`;

function textOf(answer: CancelReservationsResponse, isForced: boolean): string {
  const { cancelledCount: count, cancelledPoints: points, reservationIds, errors } = answer;
  const verb = isForced ? "cancelled" : "would cancel";
  const unnamed = count - reservationIds.length;
  const names = [...reservationIds, ...(unnamed > 0 ? [`and ${unnamed} more`] : [])].join(", ");
  const lines = [
    `${verb} ${sizeOf(count, points)}${count > 0 ? `: ${names}` : ""}`,
    ...(answer.skippedCount > 0 ? [skippedText(answer.skippedCount)] : []),
    ...(answer.errorCount > 0 ? [`could not cancel ${answer.errorCount}`] : []),
    ...errors.map(({ reservationId, error }) => `${reservationId}: ${error?.message}`),
  ];
  return lines.map((line) => `${printable(line)}\n`).join("");
}
