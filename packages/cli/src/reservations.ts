/** The commands about reservations: grants for a later time. */
import { durationMs, timestampDate } from "@bufbuild/protobuf/wkt";
import {
  CancelReservationResponseSchema,
  ChangeReservationPointsResponseSchema,
  CreateReservationResponseSchema,
  GetReservationResponseSchema,
  RescheduleReservationResponseSchema,
  type Reservation,
  ReservationSchema,
  RetryReservationResponseSchema,
  Reservation_StateSchema as StateSchema,
} from "@meguri/client/reservations";
import { type AddCommand, examples } from "./action.ts";
import { callerText } from "./callers.ts";
import { addCancelMany } from "./cancel-reservations.ts";
import { UsageError } from "./errors.ts";
import {
  causeOption,
  changeReasonOption,
  enumName,
  enumOption,
  enumValue,
  expireMonthOption,
  programOption,
  readCount,
  readPoints,
  readTime,
  reasonOption,
  timeFormat,
} from "./options.ts";
import { type Cell, type Columns, formatTime, printable } from "./output.ts";
import { pagesOf } from "./pages.ts";

export const addReserve: AddCommand = (parent, inSession) => {
  parent
    .command("reserve")
    .summary("give a user points at a later time")
    .description(
      "Reserves a grant: the points are granted at the time, or shortly after it, without any " +
        "further call.",
    )
    .argument("<user>", "the user who gets the points")
    .argument("<points>", "how many, 1 to 1000000000", readPoints)
    .requiredOption("--at <time>", timeFormat, readTime)
    .option("--reservation-id <id>", "the id of the reservation; a random one by default")
    .addOption(expireMonthOption().conflicts("expireAfter"))
    .option(
      "--expire-after <months>",
      "let the points expire as if the lifetime had so many months; 1 is the month of the grant",
      readCount,
    )
    .addOption(programOption())
    .addOption(reasonOption())
    .addOption(causeOption())
    .addHelpText(
      "after",
      examples(
        "meguri reserve alice 50 --at 2026-12-24T09:00+09:00 --reservation-id xmas-alice",
        "meguri reserve alice 50 --at +2h",
      ),
    )
    .action(
      inSession(async (session, userId, points, options) => {
        const { meguri, out, call } = session;
        const { program: programId, at: executeTime, reason = "", cause = "" } = options;
        const reservationId = await session.chooseId("reservationId", options.reservationId);
        // "+2h" would be another time in the next try, and so another reservation.
        const time = timestampDate(executeTime).toISOString();
        session.repeatWith = `--reservation-id ${reservationId} --at ${time}`;
        const content = { points, executeTime, expiry: expiryOf(options), reason, cause };
        const request = { programId, userId, reservationId, ...content };
        const answer = await meguri.reservations.createReservation(request, call);
        await out.message(
          CreateReservationResponseSchema,
          answer,
          ({ reservation, replayed }) =>
            `${about(reservation)}${replayed ? "; replayed: it existed already" : ""}\n`,
        );
      }),
    );
};

interface ExpiryOptions {
  readonly expireMonth?: string | undefined;
  readonly expireAfter?: number | undefined;
}

const expiryOf = ({ expireMonth, expireAfter }: ExpiryOptions) => {
  if (expireMonth !== undefined) return { case: "expireMonth", value: expireMonth } as const;
  if (expireAfter !== undefined) return { case: "expireAfterMonths", value: expireAfter } as const;
  return { case: undefined };
};

export const addReservation: AddCommand = (parent, inSession) => {
  const reservation = parent
    .command("reservation")
    .summary("list, show, cancel, move, change and retry reservations")
    .description("Reservations are grants for a later time. meguri reserve makes one.");
  const changes = [addCancel, addCancelMany, addReschedule, addChangePoints, addRetry];
  for (const add of [addList, addShow, ...changes]) add(reservation, inSession);
};

const columns: Columns<Reservation> = {
  reservation: ({ reservationId }) => reservationId,
  state: ({ state }) => enumName(StateSchema, state),
  user: ({ userId }) => userId,
  points: ({ points }) => points,
  time: ({ executeTime }) => executeTime,
  creator: ({ creator }) => creator && callerText(creator),
  reason: ({ reason }) => reason,
  cause: ({ cause }) => cause,
};

const addList: AddCommand = (parent, inSession) => {
  parent
    .command("list")
    .summary("list the reservations of a user, or those in a state")
    .description("Lists reservations in the order of their times. A change may take a second.")
    .option("--user <user>", "those of this user")
    .addOption(enumOption("--state <state>", "those in this state", StateSchema))
    .addOption(programOption())
    .option("--since <time>", `only those at or after ${timeFormat}`, readTime)
    .option("--until <time>", "only those before this time", readTime)
    .addHelpText(
      "after",
      examples(
        "meguri reservation list --user alice",
        "meguri reservation list --state FAILED --program shop",
      ),
    )
    .action(
      inSession(async ({ meguri, out, call }, options) => {
        const { program: programId, user, state, since, until } = options;
        if ((user === undefined) === (state === undefined)) {
          throw new UsageError("reservation list needs either --user or --state");
        }
        const filter =
          user === undefined
            ? { case: "state" as const, value: enumValue(StateSchema, state) }
            : { case: "userId" as const, value: user };
        const times = {
          ...(since && { executeTimeFrom: since }),
          ...(until && { executeTimeBefore: until }),
        };
        const pages = pagesOf(async (page) => {
          const request = { programId, filter, ...times, ...page };
          const answer = await meguri.reservations.listReservations(request, call);
          return [answer.reservations, answer.nextPageToken];
        });
        await out.list(ReservationSchema, pages, columns);
      }),
    );
};

const addShow: AddCommand = (parent, inSession) => {
  parent
    .command("show")
    .summary("show one reservation")
    .description("Shows a reservation, why it failed, and who changed it last.")
    .argument("<reservation-id>", "the reservation")
    .addOption(programOption())
    .addHelpText("after", examples("meguri reservation show xmas-alice"))
    .action(
      inSession(async ({ meguri, out, call }, reservationId, { program: programId }) => {
        const name = { programId, reservationId };
        const answer = await meguri.reservations.getReservation(name, call);
        await out.message(GetReservationResponseSchema, answer, ({ reservation }) =>
          reservation ? out.table(fields(reservation)) : "",
        );
      }),
    );
};

const fields = (reservation: Reservation): Cell[][] => [
  ...Object.entries(columns).map(([name, cell]) => [name, cell(reservation)]),
  ["created", reservation.createTime],
  ["updated", reservation.updateTime],
  ["last change", reservation.lastChange?.time],
  ["changed by", reservation.lastChange?.caller && callerText(reservation.lastChange.caller)],
  ["change reason", reservation.lastChange?.reason],
  ["granted", reservation.grantTime],
  ["lateness ms", reservation.lateness && durationMs(reservation.lateness)],
  ["ledger entry", reservation.entryNumber || undefined],
  ["failure", reservation.failure?.reason],
  ["message", reservation.failure?.message],
];

const addCancel: AddCommand = (parent, inSession) => {
  parent
    .command("cancel")
    .summary("cancel a reservation")
    .description("Cancels a reservation whose points are not granted yet, also a failed one.")
    .argument("<reservation-id>", "the reservation")
    .addOption(programOption())
    .addOption(changeReasonOption())
    .addHelpText("after", examples("meguri reservation cancel xmas-alice --reason moved"))
    .action(
      inSession(async ({ meguri, out, call }, reservationId, options) => {
        const { program: programId, reason = "" } = options;
        const request = { programId, reservationId, reason };
        const answer = await meguri.reservations.cancelReservation(request, call);
        await out.message(CancelReservationResponseSchema, answer, changed);
      }),
    );
};

const addReschedule: AddCommand = (parent, inSession) => {
  parent
    .command("reschedule")
    .summary("move a reservation to another time")
    .description("Moves a reservation whose points are not granted yet. A past time means now.")
    .argument("<reservation-id>", "the reservation")
    .argument("<time>", timeFormat, readTime)
    .addOption(programOption())
    .addOption(changeReasonOption())
    .addHelpText("after", examples("meguri reservation reschedule xmas-alice +2h"))
    .action(
      inSession(async ({ meguri, out, call }, reservationId, executeTime, options) => {
        const { program: programId, reason = "" } = options;
        const request = { programId, reservationId, executeTime, reason };
        const answer = await meguri.reservations.rescheduleReservation(request, call);
        await out.message(RescheduleReservationResponseSchema, answer, changed);
      }),
    );
};

const addChangePoints: AddCommand = (parent, inSession) => {
  parent
    .command("change-points")
    .summary("lower or raise the points of a reservation")
    .description("Lowers or raises the points of a reservation that are not granted yet.")
    .argument("<reservation-id>", "the reservation")
    .argument("<points>", "how many, 1 to 1000000000", readPoints)
    .addOption(programOption())
    .addOption(changeReasonOption())
    .addHelpText("after", examples("meguri reservation change-points xmas-alice 80"))
    .action(
      inSession(async ({ meguri, out, call }, reservationId, points, options) => {
        const { program: programId, reason = "" } = options;
        const request = { programId, reservationId, points, reason };
        const answer = await meguri.reservations.changeReservationPoints(request, call);
        await out.message(ChangeReservationPointsResponseSchema, answer, changed);
      }),
    );
};

const addRetry: AddCommand = (parent, inSession) => {
  parent
    .command("retry")
    .summary("try a failed reservation again")
    .description("Tries a failed reservation again: at once, or at its time if that is to come.")
    .argument("<reservation-id>", "the reservation")
    .addOption(programOption())
    .addOption(changeReasonOption())
    .addHelpText("after", examples("meguri reservation retry xmas-alice"))
    .action(
      inSession(async ({ meguri, out, call }, reservationId, options) => {
        const { program: programId, reason = "" } = options;
        const request = { programId, reservationId, reason };
        const answer = await meguri.reservations.retryReservation(request, call);
        await out.message(RetryReservationResponseSchema, answer, changed);
      }),
    );
};

const changed = ({ reservation }: { readonly reservation?: Reservation | undefined }): string =>
  `${about(reservation)}\n`;

function about(reservation: Reservation | undefined): string {
  if (reservation === undefined) return "";
  const { reservationId, state, points, userId, executeTime } = reservation;
  const when = `${points} points for ${userId} at ${formatTime(executeTime)}`;
  return printable(`${enumName(StateSchema, state)}: ${when} (reservation ${reservationId})`);
}
