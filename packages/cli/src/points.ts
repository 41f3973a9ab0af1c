/** The commands about the points of an account. */
import {
  type Balance,
  BalanceSchema,
  EventOrigin,
  ExpiredPointsPolicy,
  type GrantPointsResponse,
  PointsService,
} from "@meguri/client/points";
import { asRequest, requestGrant, requestRevoke } from "./bulk-request.ts";
import { type Commands, says } from "./command.ts";
import { columnsOf, linesOf } from "./fields.ts";
import {
  allowPartial,
  amount,
  change,
  eventId,
  expireMonth,
  type InputLine,
  monthFormat,
  pastTimeFormat,
  program,
  readMonth,
} from "./options.ts";
import { type Output, outcomeText, quantity } from "./output.ts";

const { method } = PointsService;

const accountChange: readonly InputLine[] = [...change, eventId];

const origin: InputLine = [
  "--origin <origin> = grantEvent.origin: what made the grant: a call, a reservation or a bulk " +
    "grant",
  {
    default: "caller",
    words: {
      caller: EventOrigin.CALLER,
      reservation: EventOrigin.RESERVATION,
      bulk: EventOrigin.BULK_GRANT,
    },
  },
];

export const points: Commands = {
  balance: says(method.getBalance, {
    summary: "show the points of a user",
    description:
      "Shows the points that a user has now, when they expire, and how many are held besides. A " +
      "user without an account has 0 points.",
    takes: [
      "<user> = userId: the user",
      program,
      [
        "--pending = includePending: also show the points that are reserved and not granted yet",
        { conflicts: "asOf" },
      ],
      `--as-of <time> = asOf: what the user had at ${pastTimeFormat}`,
    ],
    examples: ["meguri balance alice", "meguri balance alice --as-of 2026-11-01T00:00+09:00"],
    text: ({ balance, final }, { includePending, asOf }, out) =>
      balance ? balanceText(out, balance, includePending) + (asOf && !final ? notFinal : "") : "",
  }),

  grant: says(method.grantPoints, {
    summary: "give a user points",
    description: "Gives a user points. They expire after the lifetime of the program.",
    takes: [
      "<user> = userId: the user who gets the points",
      amount,
      ...accountChange,
      expireMonth,
      asRequest,
    ],
    examples: [
      "meguri grant alice 500 --request --reason 'late parcel'",
      "meguri grant alice 120 --event-id order-17 --reason welcome",
      "meguri grant alice 50 --event-id xmas-alice --expire-month 2026-12",
    ],
    async prepare(session, change, { request }) {
      if (request) await requestGrant(session, change);
      return !request;
    },
    text: changed((granted, user) => `granted ${granted} to ${user}`),
  }),

  use: says(method.usePoints, {
    summary: "spend points of a user",
    description: "Spends points of a user, those of the oldest month first.",
    takes: [
      "<user> = userId: the user who spends the points",
      amount,
      ...accountChange,
      allowPartial("spend"),
    ],
    examples: ["meguri use alice 80 --event-id order-18"],
    text: changed((used, user) => `used ${used} of ${user}`),
  }),

  refund: says(method.refundPoints, {
    summary: "return points of a use or a capture",
    description:
      "Returns points of a use, or of a capture of a hold, to the months from which they were " +
      "taken. Points that have expired since then either expire again at once, or go to the " +
      "current month.",
    takes: [
      "<user> = userId: the user who gets the points back",
      "<use-event-id> = useEventId: the event id of the use, or of the capture",
      ...accountChange,
      [
        "--expired-points <policy> = expiredPointsPolicy: what happens to points that have " +
          "expired since the use",
        {
          isRequired: true,
          words: {
            "original-expiry": ExpiredPointsPolicy.ORIGINAL_EXPIRY,
            "current-month": ExpiredPointsPolicy.CURRENT_MONTH,
          },
        },
      ],
      "--hold <hold-id> = holdId: the hold of the capture; a use by default",
      "--points <points> = points: how many; by default all that were not returned",
    ],
    examples: ["meguri refund alice order-18 --expired-points current-month"],
    text: changed((refunded, user) => `refunded ${refunded} to ${user}`),
  }),

  revoke: says(method.revokePoints, {
    summary: "take back a grant",
    description:
      "Takes back the points of a grant, as far as its month still holds any. 0 points is no " +
      "error. The event id of a grant is in the ledger.",
    takes: [
      "<user> = userId: the user who got the points",
      "<grant-event-id> = grantEvent.eventId: the event id of the grant",
      ...accountChange,
      origin,
      asRequest,
    ],
    examples: ["meguri revoke alice order-17 --reason cancelled"],
    async prepare(session, change, { request }) {
      if (request) await requestRevoke(session, change);
      return !request;
    },
    text: changed((revoked, user) => `revoked ${revoked} of ${user}`),
  }),

  extend: says(method.extendExpiry, {
    summary: "let the points of a grant last longer",
    description:
      "Moves the points of a grant, as far as its month still holds any, to a later month. 0 " +
      "points is no error. To revoke or extend the moved points, name the event id of this call.",
    takes: [
      "<user> = userId: the user who got the points",
      "<grant-event-id> = grantEvent.eventId: the event id of the grant, or of an earlier " +
        "extension",
      [
        `<month> = expireMonth: at whose end the points expire: ${monthFormat}`,
        { read: readMonth },
      ],
      ...accountChange,
      origin,
    ],
    examples: ["meguri extend alice xmas-alice 2027-06 --reason apology"],
    text: changed((moved, user) => `extended ${moved} of ${user}`),
  }),

  freeze: says(method.freezeAccount, {
    summary: "make an account refuse changes",
    description:
      "Makes an account refuse grants, uses, refunds, holds and captures. Its points still expire.",
    takes: ["<user> = userId: the user whose account it is", ...accountChange],
    examples: ["meguri freeze alice --reason 'fraud check'"],
    text: changed((_, user) => `froze the account of ${user}`),
  }),

  unfreeze: says(method.unfreezeAccount, {
    summary: "end a freeze",
    description: "Lets a frozen account accept what it refused while it was frozen.",
    takes: ["<user> = userId: the user whose account it is", ...accountChange],
    examples: ["meguri unfreeze alice"],
    text: changed((_, user) => `unfroze the account of ${user}`),
  }),
};

/** The answer to every change of an account. */
type ChangeAnswer = Pick<GrantPointsResponse, "entry" | "availablePoints" | "replayed">;

/** The sentence about a change. `done` says what was done with the points of the entry. */
function changed(done: (points: string, user: string) => string) {
  return (answer: ChangeAnswer, request: { userId: string; validateOnly: boolean }): string => {
    const { entry, availablePoints } = answer;
    const what = done(quantity(entry?.points ?? 0n, "point"), request.userId);
    const text = `${what} (event ${entry?.event?.eventId}), balance ${availablePoints}`;
    return outcomeText(request, answer, text);
  };
}

const notFinal =
  "This is not final: a write that is under way may change it within 16 minutes of the time.\n";

const balanceLines = columnsOf<Balance>(BalanceSchema, [
  "available: availablePoints, held: heldPoints, pending: pendingPoints, frozen",
  "issued: totals.issuedPoints, used: totals.usedPoints, expired: totals.expiredPoints",
  "refunded: totals.refundedPoints, revoked: totals.revokedPoints, captured: totals.capturedPoints",
]);

function balanceText(out: Output, balance: Balance, hasPending: boolean): string {
  const lines = linesOf(balanceLines, balance).filter(([name]) => hasPending || name !== "pending");
  const months = balance.buckets.map(({ month, points, expireTime }) => [
    month,
    points,
    expireTime,
  ]);
  const table = months.length > 0 ? out.table(months, ["month", "points", "expires"]) : "";
  return out.table(lines) + table;
}
