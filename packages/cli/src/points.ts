/** The commands that change the points of an account. */
import { type Command, Option } from "@commander-js/extra-typings";
import {
  EventOrigin,
  ExpiredPointsPolicy,
  ExtendExpiryResponseSchema,
  FreezeAccountResponseSchema,
  GrantPointsResponseSchema,
  type LedgerEntry,
  RefundPointsResponseSchema,
  RevokePointsResponseSchema,
  UnfreezeAccountResponseSchema,
  UsePointsResponseSchema,
} from "@meguri/client/points";
import { type AddCommand, examples } from "./action.ts";
import { type ChangeOptions, changeCommand, changeFields } from "./change-command.ts";
import { counted } from "./counted.ts";
import { eventIdOption, expireMonthOption, monthFormat, readMonth, readPoints } from "./options.ts";
import { outcomeText } from "./output.ts";
import type { Session } from "./session.ts";

/** What all commands of this file have. */
const command = (parent: Command, name: string, summary: string) =>
  changeCommand(parent, name, summary).addOption(eventIdOption());

/** The fields that all changes of an account have. */
async function changeOf(
  session: Session,
  userId: string,
  options: ChangeOptions & { readonly eventId?: string | undefined },
) {
  const eventId = await session.chooseId("eventId", options.eventId);
  return { ...changeFields(options), userId, eventId };
}

/** The answer to every change of an account. */
interface ChangeAnswer {
  readonly entry?: LedgerEntry | undefined;
  readonly availablePoints: bigint;
  readonly replayed: boolean;
}

/** The sentence about a change. `done` says what was done with the points of the entry. */
const sentence =
  ({ dryRun }: ChangeOptions, done: (points: bigint) => string) =>
  ({ entry, availablePoints, replayed }: ChangeAnswer): string => {
    const event = `event ${entry?.event?.eventId}`;
    const text = `${done(entry?.points ?? 0n)} (${event}), balance ${availablePoints}`;
    return outcomeText({ dryRun, replayed }, text);
  };

export const addGrant: AddCommand = (parent, inSession) => {
  command(parent, "grant", "give a user points")
    .description("Gives a user points. They expire after the lifetime of the program.")
    .argument("<user>", "the user who gets the points")
    .argument("<points>", "how many, 1 to 1000000000", readPoints)
    .addOption(expireMonthOption())
    .addHelpText(
      "after",
      examples(
        "meguri grant alice 120 --event-id order-17 --reason welcome",
        "meguri grant alice 50 --event-id xmas-alice --expire-month 2026-12",
      ),
    )
    .action(
      inSession(async (session, user, points, options) => {
        const { meguri, out, call } = session;
        const { expireMonth = "" } = options;
        const change = await changeOf(session, user, options);
        const answer = await meguri.points.grantPoints({ ...change, points, expireMonth }, call);
        const text = sentence(
          options,
          (granted) => `granted ${counted(granted, "point")} to ${user}`,
        );
        await out.message(GrantPointsResponseSchema, answer, text);
      }),
    );
};

export const addUse: AddCommand = (parent, inSession) => {
  command(parent, "use", "spend points of a user")
    .description("Spends points of a user, those of the oldest month first.")
    .argument("<user>", "the user who spends the points")
    .argument("<points>", "how many, 1 to 1000000000", readPoints)
    .option("--allow-partial", "spend what there is if the user has fewer points", false)
    .addHelpText("after", examples("meguri use alice 80 --event-id order-18"))
    .action(
      inSession(async (session, user, points, options) => {
        const { meguri, out, call } = session;
        const { allowPartial } = options;
        const change = await changeOf(session, user, options);
        const answer = await meguri.points.usePoints({ ...change, points, allowPartial }, call);
        const text = sentence(options, (used) => `used ${counted(used, "point")} of ${user}`);
        await out.message(UsePointsResponseSchema, answer, text);
      }),
    );
};

const policies = {
  "original-expiry": ExpiredPointsPolicy.ORIGINAL_EXPIRY,
  "current-month": ExpiredPointsPolicy.CURRENT_MONTH,
} as const;

const policyOption = () =>
  new Option("--expired-points <policy>", "what happens to points that have expired since the use")
    .choices(["original-expiry", "current-month"] as const)
    .makeOptionMandatory();

export const addRefund: AddCommand = (parent, inSession) => {
  command(parent, "refund", "return points of a use or a capture")
    .description(
      "Returns points of a use, or of a capture of a hold, to the months from which they were " +
        "taken. Points that have expired since then either expire again at once, or go to the " +
        "current month.",
    )
    .argument("<user>", "the user who gets the points back")
    .argument("<use-event-id>", "the event id of the use, or of the capture")
    .addOption(policyOption())
    .option("--hold <hold-id>", "the hold of the capture; a use by default")
    .option("--points <points>", "how many; by default all that were not returned", readPoints)
    .addHelpText("after", examples("meguri refund alice order-18 --expired-points current-month"))
    .action(
      inSession(async (session, user, useEventId, options) => {
        const { meguri, out, call } = session;
        const { points, hold: holdId } = options;
        const request = {
          ...(await changeOf(session, user, options)),
          useEventId,
          expiredPointsPolicy: policies[options.expiredPoints],
          ...(holdId !== undefined && { holdId }),
          ...(points !== undefined && { points }),
        };
        const answer = await meguri.points.refundPoints(request, call);
        const text = sentence(
          options,
          (refunded) => `refunded ${counted(refunded, "point")} to ${user}`,
        );
        await out.message(RefundPointsResponseSchema, answer, text);
      }),
    );
};

const origins = {
  caller: EventOrigin.CALLER,
  reservation: EventOrigin.RESERVATION,
  bulk: EventOrigin.BULK_GRANT,
} as const;

const originOption = () =>
  new Option("--origin <origin>", "what made the grant: a call, a reservation or a bulk grant")
    .choices(["caller", "reservation", "bulk"] as const)
    .default("caller" as const);

export const addRevoke: AddCommand = (parent, inSession) => {
  command(parent, "revoke", "take back a grant")
    .description(
      "Takes back the points of a grant, as far as its month still holds any. 0 points is no " +
        "error. The event id of a grant is in the ledger.",
    )
    .argument("<user>", "the user who got the points")
    .argument("<grant-event-id>", "the event id of the grant")
    .addOption(originOption())
    .addHelpText("after", examples("meguri revoke alice order-17 --reason cancelled"))
    .action(
      inSession(async (session, user, grantEventId, options) => {
        const { meguri, out, call } = session;
        const grantEvent = { origin: origins[options.origin], eventId: grantEventId };
        const change = await changeOf(session, user, options);
        const answer = await meguri.points.revokePoints({ ...change, grantEvent }, call);
        const text = sentence(
          options,
          (revoked) => `revoked ${counted(revoked, "point")} of ${user}`,
        );
        await out.message(RevokePointsResponseSchema, answer, text);
      }),
    );
};

export const addExtend: AddCommand = (parent, inSession) => {
  command(parent, "extend", "let the points of a grant last longer")
    .description(
      "Moves the points of a grant, as far as its month still holds any, to a later month. 0 " +
        "points is no error. To revoke or extend the moved points, name the event id of this call.",
    )
    .argument("<user>", "the user who got the points")
    .argument("<grant-event-id>", "the event id of the grant, or of an earlier extension")
    .argument("<month>", `at whose end the points expire: ${monthFormat}`, readMonth)
    .addOption(originOption())
    .addHelpText("after", examples("meguri extend alice xmas-alice 2027-06 --reason apology"))
    .action(
      inSession(async (session, user, grantEventId, expireMonth, options) => {
        const { meguri, out, call } = session;
        const grantEvent = { origin: origins[options.origin], eventId: grantEventId };
        const change = await changeOf(session, user, options);
        const request = { ...change, grantEvent, expireMonth };
        const answer = await meguri.points.extendExpiry(request, call);
        const text = sentence(options, (moved) => `extended ${counted(moved, "point")} of ${user}`);
        await out.message(ExtendExpiryResponseSchema, answer, text);
      }),
    );
};

export const addFreeze: AddCommand = (parent, inSession) => {
  command(parent, "freeze", "make an account refuse changes")
    .description(
      "Makes an account refuse grants, uses, refunds, holds and captures. Its points still expire.",
    )
    .argument("<user>", "the user whose account it is")
    .addHelpText("after", examples("meguri freeze alice --reason 'fraud check'"))
    .action(
      inSession(async (session, user, options) => {
        const { meguri, out, call } = session;
        const change = await changeOf(session, user, options);
        const answer = await meguri.points.freezeAccount(change, call);
        await out.message(
          FreezeAccountResponseSchema,
          answer,
          sentence(options, () => `froze the account of ${user}`),
        );
      }),
    );
};

export const addUnfreeze: AddCommand = (parent, inSession) => {
  command(parent, "unfreeze", "end a freeze")
    .description("Lets a frozen account accept what it refused while it was frozen.")
    .argument("<user>", "the user whose account it is")
    .addHelpText("after", examples("meguri unfreeze alice"))
    .action(
      inSession(async (session, user, options) => {
        const { meguri, out, call } = session;
        const change = await changeOf(session, user, options);
        const answer = await meguri.points.unfreezeAccount(change, call);
        await out.message(
          UnfreezeAccountResponseSchema,
          answer,
          sentence(options, () => `unfroze the account of ${user}`),
        );
      }),
    );
};
