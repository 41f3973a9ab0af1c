/** The commands about reservations: grants for a later time. */
import {
  type CancelReservationsRequest,
  CancelReservationsRequestSchema,
  type CancelReservationsResponse,
  CancelReservationsResponseSchema,
  type Reservation,
  ReservationService,
  Reservation_StateSchema as StateSchema,
} from "@meguri/client/reservations";
import { answersOf } from "./calls.ts";
import { type Commands, lists, runs, says, shows, type Values } from "./command.ts";
import { agree } from "./confirm.ts";
import { exitCodes } from "./exit-codes.ts";
import {
  amount,
  change,
  changeReason,
  dryRun,
  expireMonth,
  type InputLine,
  program,
  timeFormat,
} from "./options.ts";
import { enumName, formatTime, line, nounFor, outcomeText, quantity } from "./output.ts";
import type { Session } from "./session.ts";

const { method } = ReservationService;

const reservation = "<reservation-id> = reservationId: the reservation";
const allowPast =
  "--allow-past = allowPastExecuteTime: take a time of more than a day ago, which means now";
const options: readonly InputLine[] = [program, changeReason, dryRun];

export const reserve = says(method.createReservation, {
  summary: "give a user points at a later time",
  description:
    "Reserves a grant: the points are granted at the time, or shortly after it, without any " +
    "further call.",
  takes: [
    "<user> = userId: the user who gets the points",
    amount,
    ...change,
    [`--at <time> = executeTime: ${timeFormat}`, { isRequired: true, isRepeated: true }],
    allowPast,
    [
      "--reservation-id <id> = reservationId: the id of the reservation; a random one by default",
      { orRandom: true },
    ],
    expireMonth,
    [
      "--expire-after <months> = expireAfterMonths: let the points expire as if the lifetime had " +
        "so many months; 1 is the month of the grant",
      { conflicts: "expireMonth" },
    ],
  ],
  examples: [
    "meguri reserve alice 50 --at 2026-12-24T09:00+09:00 --reservation-id xmas-alice",
    "meguri reserve alice 50 --at +2h",
  ],
  text: sentence,
});

const columns = [
  "reservation: reservationId, state, user: userId, points, time: executeTime, creator, reason",
  "cause",
];

export const reservations: Commands = {
  list: lists<Reservation>(method.listReservations, {
    summary: "list the reservations of a user, or those in a state",
    description: "Lists reservations in the order of their times. A change may take a second.",
    takes: [
      "--user <user> = userId: those of this user",
      "--state <state> = state: those in PENDING, PROCESSING or FAILED",
      program,
      `--since <time> = executeTimeFrom: only those at or after ${timeFormat}`,
      "--until <time> = executeTimeBefore: only those before this time",
    ],
    examples: [
      "meguri reservation list --user alice",
      "meguri reservation list --state FAILED --program shop",
    ],
    check: ({ user, state }) =>
      (user === undefined) === (state === undefined) &&
      "reservation list needs either --user or --state",
    columns,
  }),

  show: shows<Reservation>(method.getReservation, {
    summary: "show one reservation",
    description: "Shows a reservation, why it failed, and who changed it last.",
    takes: [reservation, program],
    examples: ["meguri reservation show xmas-alice"],
    lines: [
      ...columns,
      { expires: expiryText },
      "created: createTime, updated: updateTime, last change: lastChange.time",
      "changed by: lastChange.caller, change reason: lastChange.reason, granted: grantTime",
      "lateness ms: lateness",
      { "ledger entry": ({ entryNumber }) => entryNumber || undefined },
      "failure: failure.reason, message: failure.message",
    ],
  }),

  cancel: says(method.cancelReservation, {
    summary: "cancel a reservation",
    description: "Cancels a reservation whose points are not granted yet, also a failed one.",
    takes: [reservation, ...options],
    examples: ["meguri reservation cancel xmas-alice --reason moved"],
    text: sentence,
  }),

  "cancel-many": runs(CancelReservationsRequestSchema, {
    summary: "cancel the reservations of a user, or those with a reason and a time",
    description:
      "Shows the reservations that it would cancel, and asks. Without a terminal, or with " +
      "--dry-run, it only shows them. With --force it cancels them at once. They are those whose " +
      "points are not granted yet, also failed ones.",
    takes: [
      "--user <user> = userId: those of this user",
      "--reason-prefix <text> = reasonFilter.reasonPrefix: those whose reason begins with this, " +
        "of all users",
      "--since <time> = reasonFilter.executeTimeFrom: with --reason-prefix: those at or after " +
        `${timeFormat}`,
      "--until <time> = reasonFilter.executeTimeBefore: with --reason-prefix: those before this " +
        "time",
      ...options,
      "--force: cancel them without a question",
    ],
    examples: [
      "meguri reservation cancel-many --user alice --reason 'the user left'",
      "meguri reservation cancel-many --reason-prefix sale --since +0s --until +30d --force",
    ],
    check: wrongFilter,
    async run(session, request, { force }) {
      if (request.validateOnly || !force) {
        const { count, points } = await cancelPages(session, { ...request, validateOnly: true });
        if (count === 0 || request.validateOnly) return;
        if (session.out.isJson || !session.io.stdin.isTTY) {
          return session.out.note("nothing was changed; --force cancels them");
        }
        const question = `Cancel ${sizeOf(count, points)}?`;
        if (!(await agree(session, question, "not cancelled"))) return;
      }
      const { errors } = await cancelPages(session, request);
      if (errors > 0) session.exitCode = exitCodes.retryable;
    },
  }),

  reschedule: says(method.rescheduleReservation, {
    summary: "move a reservation to another time",
    description: "Moves a reservation whose points are not granted yet. A past time means now.",
    takes: [reservation, `<time> = executeTime: ${timeFormat}`, ...options, allowPast],
    examples: ["meguri reservation reschedule xmas-alice +2h"],
    text: sentence,
  }),

  "change-points": says(method.changeReservationPoints, {
    summary: "lower or raise the points of a reservation",
    description: "Lowers or raises the points of a reservation that are not granted yet.",
    takes: [reservation, amount, ...options],
    examples: ["meguri reservation change-points xmas-alice 80"],
    text: sentence,
  }),

  retry: says(method.retryReservation, {
    summary: "try a failed reservation again",
    description: "Tries a failed reservation again: at once, or at its time if that is to come.",
    takes: [reservation, ...options],
    examples: ["meguri reservation retry xmas-alice"],
    text: sentence,
  }),
};

function expiryText({ expiry }: Reservation): string | undefined {
  if (expiry.case === "expireMonth") return `at the end of ${expiry.value}`;
  if (expiry.case === "expireAfterMonths") {
    return `as after a lifetime of ${quantity(expiry.value, "month")}`;
  }
  return undefined;
}

interface ChangeAnswer {
  readonly reservation?: Reservation | undefined;
  /** Only the answer to a creation has it. */
  readonly replayed?: boolean;
}

/** The sentence about the reservation in the answer of a change. */
function sentence(answer: ChangeAnswer, request: { readonly validateOnly: boolean }): string {
  const { reservation } = answer;
  if (reservation === undefined) return "\n";
  const { reservationId, state, points, userId, executeTime } = reservation;
  const when = `${quantity(points, "point")} for ${userId} at ${formatTime(executeTime)}`;
  const text = `${enumName(StateSchema, state)}: ${when} (reservation ${reservationId})`;
  return outcomeText(request, answer, text);
}

function wrongFilter({ user, reasonPrefix, since, until }: Values): string | undefined {
  if ((user === undefined) === (reasonPrefix === undefined)) {
    return "reservation cancel-many needs either --user or --reason-prefix";
  }
  if (user !== undefined) {
    return since || until ? "--since and --until belong to --reason-prefix" : undefined;
  }
  return since && until ? undefined : "--reason-prefix needs --since and --until";
}

/** Sends the request until all reservations were found, and prints each answer. */
async function cancelPages(session: Session, request: CancelReservationsRequest) {
  const total = { count: 0, points: 0n, errors: 0 };
  const { cancelReservations } = ReservationService.method;
  for await (const answer of answersOf(session, cancelReservations, request)) {
    await session.out.message(CancelReservationsResponseSchema, answer, () =>
      textOf(answer, request.validateOnly),
    );
    total.count += answer.cancelledCount;
    total.points += answer.cancelledPoints;
    total.errors += answer.errorCount;
  }
  return total;
}

const sizeOf = (count: number, points: bigint): string =>
  `${quantity(count, "reservation")} of ${quantity(points, "point")}`;

const skippedText = (count: number): string =>
  `skipped ${count} that ${nounFor(count, "has", "have")} changed`;

function textOf(answer: CancelReservationsResponse, validateOnly: boolean): string {
  const { cancelledCount: count, cancelledPoints: points, reservationIds, errors } = answer;
  const verb = validateOnly ? "would cancel" : "cancelled";
  const unnamed = count - reservationIds.length;
  const names = [...reservationIds, ...(unnamed > 0 ? [`and ${unnamed} more`] : [])].join(", ");
  const lines = [
    `${verb} ${sizeOf(count, points)}${count > 0 ? `: ${names}` : ""}`,
    ...(answer.skippedCount > 0 ? [skippedText(answer.skippedCount)] : []),
    ...(answer.errorCount > 0 ? [`could not cancel ${answer.errorCount}`] : []),
    ...errors.map(({ reservationId, error }) => `${reservationId}: ${error?.message}`),
  ];
  return lines.map(line).join("");
}
