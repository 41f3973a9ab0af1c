/** The commands about holds: points that are set aside until they are captured or released. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  CapturePointsResponseSchema,
  GetHoldResponseSchema,
  type Hold,
  HoldPointsResponseSchema,
  HoldSchema,
  ReleaseHoldResponseSchema,
  Hold_StateSchema as StateSchema,
} from "@meguri/client/holds";
import { ExpiredPointsPolicy } from "@meguri/client/points";
import { type AddCommand, examples } from "./action.ts";
import { callerText } from "./callers.ts";
import { type ChangeOptions, changeCommand, changeFields } from "./change-command.ts";
import { counted } from "./counted.ts";
import {
  enumName,
  enumOption,
  enumValue,
  eventIdOption,
  programOption,
  readPoints,
  readTime,
  timeFormat,
} from "./options.ts";
import { type Cell, type Columns, formatTime, outcomeText } from "./output.ts";
import { pagesOf } from "./pages.ts";

export const addHold: AddCommand = (parent, inSession) => {
  const hold = parent
    .command("hold")
    .summary("set points aside, capture, release, show and list them")
    .description("A hold sets points aside until they are captured or released, or time out.");
  for (const add of [addCreate, addCapture, addRelease, addShow, addList]) add(hold, inSession);
};

const changeOf = (userId: string, holdId: string, options: ChangeOptions) => ({
  ...changeFields(options),
  userId,
  holdId,
});

/** The answer to every change of a hold. */
interface ChangeAnswer {
  readonly hold?: Hold | undefined;
  readonly availablePoints: bigint;
  readonly replayed: boolean;
}

const sentence =
  ({ dryRun }: ChangeOptions) =>
  ({ hold, availablePoints, replayed }: ChangeAnswer): string =>
    // The hold is as it is now, and the balance the one right after the change.
    outcomeText(
      { dryRun, replayed },
      `${about(hold)}, balance ${replayed ? "then " : ""}${availablePoints}`,
    );

const addCreate: AddCommand = (parent, inSession) => {
  changeCommand(parent, "create", "set points of a user aside")
    .description("Sets points of a user aside, those of the oldest month first.")
    .argument("<user>", "the user whose points are held")
    .argument("<points>", "how many, 1 to 1000000000", readPoints)
    .requiredOption(
      "--until <time>",
      `a minute to 90 days ahead, when what is still held is released: ${timeFormat}`,
      readTime,
    )
    .option("--hold-id <id>", "the id of the hold; a random one by default")
    .option("--allow-partial", "hold what there is if the user has fewer points", false)
    .option(
      "--to-current-month",
      "let points that have expired meanwhile count as granted when they are released; otherwise " +
        "they expire then",
      false,
    )
    .addHelpText("after", examples("meguri hold create alice 500 --until +1h --hold-id order-17"))
    .action(
      inSession(async (session, user, points, options) => {
        const { meguri, out, call } = session;
        const { until, allowPartial, toCurrentMonth } = options;
        const holdId = await session.chooseId("holdId", options.holdId);
        // "+1h" would be another time in the next try, and so another hold.
        session.repeatWith = `--hold-id ${holdId} --until ${timestampDate(until).toISOString()}`;
        const { CURRENT_MONTH, ORIGINAL_EXPIRY } = ExpiredPointsPolicy;
        const expiredPointsPolicy = toCurrentMonth ? CURRENT_MONTH : ORIGINAL_EXPIRY;
        const what = { points, until, allowPartial, expiredPointsPolicy };
        const request = { ...changeOf(user, holdId, options), ...what };
        const answer = await meguri.holds.holdPoints(request, call);
        await out.message(HoldPointsResponseSchema, answer, sentence(options));
      }),
    );
};

const addCapture: AddCommand = (parent, inSession) => {
  changeCommand(parent, "capture", "take held points for good")
    .description(
      "Takes held points for good, all of them or as many as given, and releases the rest.",
    )
    .argument("<user>", "the user whose points are held")
    .argument("<hold-id>", "the hold")
    .argument("[points]", "how many; all that are held by default", readPoints)
    .addOption(eventIdOption())
    .option("--more", "more captures follow, so the rest stays held", false)
    .addHelpText("after", examples("meguri hold capture alice order-17 480 --event-id paid"))
    .action(
      inSession(async (session, user, holdId, points, options) => {
        const { meguri, out, call } = session;
        const eventId = await session.chooseId("eventId", options.eventId);
        const what = { eventId, moreCapturesFollow: options.more, ...(points && { points }) };
        const request = { ...changeOf(user, holdId, options), ...what };
        const answer = await meguri.holds.capturePoints(request, call);
        await out.message(CapturePointsResponseSchema, answer, sentence(options));
      }),
    );
};

const addRelease: AddCommand = (parent, inSession) => {
  changeCommand(parent, "release", "return held points")
    .description("Returns what is still held to the months that it was taken from.")
    .argument("<user>", "the user whose points are held")
    .argument("<hold-id>", "the hold")
    .addHelpText("after", examples("meguri hold release alice order-17 --reason cancelled"))
    .action(
      inSession(async ({ meguri, out, call }, user, holdId, options) => {
        const answer = await meguri.holds.releaseHold(changeOf(user, holdId, options), call);
        await out.message(ReleaseHoldResponseSchema, answer, sentence(options));
      }),
    );
};

const columns: Columns<Hold> = {
  hold: ({ holdId }) => holdId,
  state: ({ state }) => enumName(StateSchema, state),
  user: ({ userId }) => userId,
  points: ({ points }) => points,
  captured: ({ capturedPoints }) => capturedPoints,
  released: ({ releasedPoints }) => releasedPoints,
  until: ({ until }) => until,
  creator: ({ creator }) => creator && callerText(creator),
  reason: ({ reason }) => reason,
  cause: ({ cause }) => cause,
};

const addShow: AddCommand = (parent, inSession) => {
  parent
    .command("show")
    .summary("show one hold")
    .description("Shows a hold and its captures.")
    .argument("<hold-id>", "the hold")
    .addOption(programOption())
    .addHelpText("after", examples("meguri hold show order-17"))
    .action(
      inSession(async ({ meguri, out, call }, holdId, { program: programId }) => {
        const answer = await meguri.holds.getHold({ programId, holdId }, call);
        await out.message(GetHoldResponseSchema, answer, ({ hold }) =>
          hold ? out.table(fields(hold)) : "",
        );
      }),
    );
};

const fields = (hold: Hold): Cell[][] => [
  ...Object.entries(columns).map(([name, cell]) => [name, cell(hold)]),
  ["created", hold.createTime],
  ["updated", hold.updateTime],
  ["ledger entry", hold.entryNumber],
  ...hold.captures.map(({ eventId, points, refundedPoints, createTime }) => {
    const refunded = refundedPoints > 0n ? `, ${refundedPoints} refunded` : "";
    const what = `${counted(points, "point")}${refunded}`;
    return ["capture", `${what}, event ${eventId}, ${formatTime(createTime)}`];
  }),
];

const addList: AddCommand = (parent, inSession) => {
  parent
    .command("list")
    .summary("list the holds of a user")
    .description("Lists the holds of a user, those that end last first.")
    .argument("<user>", "the user")
    .addOption(enumOption("--state <state>", "only those in this state", StateSchema))
    .addOption(programOption())
    .addHelpText("after", examples("meguri hold list alice --state HELD"))
    .action(
      inSession(async ({ meguri, out, call }, userId, { program: programId, state }) => {
        const filter = { programId, userId, state: enumValue(StateSchema, state) };
        const pages = pagesOf(async (page) => {
          const answer = await meguri.holds.listHolds({ ...filter, ...page }, call);
          return [answer.holds, answer.nextPageToken];
        });
        await out.list(HoldSchema, pages, columns);
      }),
    );
};

function about(hold: Hold | undefined): string {
  if (hold === undefined) return "";
  const { holdId, state, points, capturedPoints, releasedPoints, userId, until } = hold;
  const what = `${counted(points, "point")} of ${userId} until ${formatTime(until)}`;
  const parts = `${capturedPoints} captured, ${releasedPoints} released`;
  return `${enumName(StateSchema, state)}: ${what}, ${parts} (hold ${holdId})`;
}
