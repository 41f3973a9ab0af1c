/** The commands about reservations: grants for a later time. */
import { durationMs, timestampDate } from "@bufbuild/protobuf/wkt";
import { type Command, Option } from "@commander-js/extra-typings";
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
import { changeCommand, changeFields } from "./change-command.ts";
import { counted } from "./counted.ts";
import { UsageError } from "./errors.ts";
import {
  changeReasonOption,
  dryRunOption,
  enumName,
  enumOption,
  enumValue,
  expireMonthOption,
  programOption,
  readCount,
  readPoints,
  readTime,
  timeFormat,
} from "./options.ts";
import { type Cell, type Columns, formatTime, outcomeText } from "./output.ts";
import { pagesOf } from "./pages.ts";

export const addReserve: AddCommand = (parent, inSession) => {
  changeCommand(parent, "reserve", "give a user points at a later time")
    .description(
      "Reserves a grant: the points are granted at the time, or shortly after it, without any " +
        "further call.",
    )
    .argument("<user>", "the user who gets the points")
    .argument("<points>", "how many, 1 to 1000000000", readPoints)
    .requiredOption("--at <time>", timeFormat, readTime)
    .addOption(allowPastOption())
    .option("--reservation-id <id>", "the id of the reservation; a random one by default")
    .addOption(expireMonthOption().conflicts("expireAfter"))
    .option(
      "--expire-after <months>",
      "let the points expire as if the lifetime had so many months; 1 is the month of the grant",
      readCount,
    )
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
        const { at: executeTime, allowPast: allowPastExecuteTime } = options;
        const reservationId = await session.chooseId("reservationId", options.reservationId);
        // "+2h" would be another time in the next try, and so another reservation.
        const time = timestampDate(executeTime).toISOString();
        session.repeatWith = `--reservation-id ${reservationId} --at ${time}`;
        const content = {
          ...{ points, executeTime, allowPastExecuteTime },
          expiry: expiryOf(options),
        };
        const request = { ...changeFields(options), userId, reservationId, ...content };
        const answer = await meguri.reservations.createReservation(request, call);
        await out.message(CreateReservationResponseSchema, answer, sentence(options));
      }),
    );
};

const allowPastOption = () =>
  new Option("--allow-past", "take a time of more than a day ago, which means now").default(false);

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

function expiryText({ expiry }: Reservation): Cell {
  if (expiry.case === "expireMonth") return `at the end of ${expiry.value}`;
  if (expiry.case === "expireAfterMonths") {
    return `as after a lifetime of ${counted(expiry.value, "month")}`;
  }
  return undefined;
}

const fields = (reservation: Reservation): Cell[][] => [
  ...Object.entries(columns).map(([name, cell]) => [name, cell(reservation)]),
  ["expires", expiryText(reservation)],
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

/** A command that changes a reservation. */
const change = (parent: Command, name: string, summary: string) =>
  parent
    .command(name)
    .summary(summary)
    .argument("<reservation-id>", "the reservation")
    .addOption(programOption())
    .addOption(changeReasonOption())
    .addOption(dryRunOption());

/** The fields that its request has besides the id. A reservation keeps its own cause. */
const fieldsOf = (options: Parameters<typeof changeFields>[0]) => {
  const { programId, reason, validateOnly } = changeFields(options);
  return { programId, reason, validateOnly };
};

const addCancel: AddCommand = (parent, inSession) => {
  change(parent, "cancel", "cancel a reservation")
    .description("Cancels a reservation whose points are not granted yet, also a failed one.")
    .addHelpText("after", examples("meguri reservation cancel xmas-alice --reason moved"))
    .action(
      inSession(async ({ meguri, out, call }, reservationId, options) => {
        const request = { reservationId, ...fieldsOf(options) };
        const answer = await meguri.reservations.cancelReservation(request, call);
        await out.message(CancelReservationResponseSchema, answer, sentence(options));
      }),
    );
};

const addReschedule: AddCommand = (parent, inSession) => {
  change(parent, "reschedule", "move a reservation to another time")
    .description("Moves a reservation whose points are not granted yet. A past time means now.")
    .argument("<time>", timeFormat, readTime)
    .addOption(allowPastOption())
    .addHelpText("after", examples("meguri reservation reschedule xmas-alice +2h"))
    .action(
      inSession(async ({ meguri, out, call }, reservationId, executeTime, options) => {
        const { allowPast: allowPastExecuteTime } = options;
        const time = { executeTime, allowPastExecuteTime };
        const request = { reservationId, ...time, ...fieldsOf(options) };
        const answer = await meguri.reservations.rescheduleReservation(request, call);
        await out.message(RescheduleReservationResponseSchema, answer, sentence(options));
      }),
    );
};

const addChangePoints: AddCommand = (parent, inSession) => {
  change(parent, "change-points", "lower or raise the points of a reservation")
    .description("Lowers or raises the points of a reservation that are not granted yet.")
    .argument("<points>", "how many, 1 to 1000000000", readPoints)
    .addHelpText("after", examples("meguri reservation change-points xmas-alice 80"))
    .action(
      inSession(async ({ meguri, out, call }, reservationId, points, options) => {
        const request = { reservationId, points, ...fieldsOf(options) };
        const answer = await meguri.reservations.changeReservationPoints(request, call);
        await out.message(ChangeReservationPointsResponseSchema, answer, sentence(options));
      }),
    );
};

const addRetry: AddCommand = (parent, inSession) => {
  change(parent, "retry", "try a failed reservation again")
    .description("Tries a failed reservation again: at once, or at its time if that is to come.")
    .addHelpText("after", examples("meguri reservation retry xmas-alice"))
    .action(
      inSession(async ({ meguri, out, call }, reservationId, options) => {
        const request = { reservationId, ...fieldsOf(options) };
        const answer = await meguri.reservations.retryReservation(request, call);
        await out.message(RetryReservationResponseSchema, answer, sentence(options));
      }),
    );
};

/** What the answer of a change says of the reservation. */
const sentence =
  ({ dryRun }: { readonly dryRun: boolean }) =>
  ({ reservation, replayed = false }: ChangeAnswer): string =>
    outcomeText({ dryRun, replayed }, about(reservation));

interface ChangeAnswer {
  readonly reservation?: Reservation | undefined;
  /** Only the answer to a creation has it. */
  readonly replayed?: boolean;
}

function about(reservation: Reservation | undefined): string {
  if (reservation === undefined) return "";
  const { reservationId, state, points, userId, executeTime } = reservation;
  const when = `${counted(points, "point")} for ${userId} at ${formatTime(executeTime)}`;
  return `${enumName(StateSchema, state)}: ${when} (reservation ${reservationId})`;
}
