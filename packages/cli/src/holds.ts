/** The commands about holds: points that are set aside until they are captured or released. */
import {
  type GetHoldResponse,
  type Hold,
  type HoldPointsResponse,
  HoldService,
  Hold_StateSchema as StateSchema,
} from "@meguri/client/holds";
import { ExpiredPointsPolicy } from "@meguri/client/points";
import { type Commands, lists, says, shows } from "./command.ts";
import { allowPartial, amount, change, eventId, program, timeFormat } from "./options.ts";
import { enumName, formatTime, outcomeText, quantity } from "./output.ts";

const { method } = HoldService;

const holder = "<user> = userId: the user whose points are held";
const hold = "<hold-id> = holdId: the hold";

const columns = [
  "hold: holdId, state, user: userId, points, captured: capturedPoints, released: releasedPoints",
  "until, creator, reason, cause",
];

export const holds: Commands = {
  create: says(method.holdPoints, {
    summary: "set points of a user aside",
    description: "Sets points of a user aside, those of the oldest month first.",
    takes: [
      holder,
      amount,
      ...change,
      [
        "--until <time> = until: a minute to 90 days ahead, when what is still held is " +
          `released: ${timeFormat}`,
        { isRequired: true, isRepeated: true },
      ],
      ["--hold-id <id> = holdId: the id of the hold; a random one by default", { orRandom: true }],
      allowPartial("hold"),
      [
        "--to-current-month = expiredPointsPolicy: let points that have expired meanwhile count " +
          "as granted when they are released; otherwise they expire then",
        { on: ExpiredPointsPolicy.CURRENT_MONTH },
      ],
    ],
    examples: ["meguri hold create alice 500 --until +1h --hold-id order-17"],
    text: sentence,
  }),

  capture: says(method.capturePoints, {
    summary: "take held points for good",
    description:
      "Takes held points for good, all of them or as many as given, and releases the rest.",
    takes: [
      holder,
      hold,
      "[points] = points: how many; all that are held by default",
      ...change,
      eventId,
      "--more = moreCapturesFollow: more captures follow, so the rest stays held",
    ],
    examples: ["meguri hold capture alice order-17 480 --event-id paid"],
    text: sentence,
  }),

  release: says(method.releaseHold, {
    summary: "return held points",
    description: "Returns what is still held to the months that it was taken from.",
    takes: [holder, hold, ...change],
    examples: ["meguri hold release alice order-17 --reason cancelled"],
    text: sentence,
  }),

  show: shows<Hold>(method.getHold, {
    summary: "show one hold",
    description: "Shows a hold and its captures.",
    takes: [hold, program],
    examples: ["meguri hold show order-17"],
    lines: [
      ...columns,
      "created: createTime, updated: updateTime, ledger entry: entryNumber",
      "captures left: capturesLeft",
    ],
    more: (_, answer) =>
      (answer as GetHoldResponse).captures.map(
        ({ eventId, points, refundedPoints, createTime }) => {
          const refunded = refundedPoints > 0n ? `, ${refundedPoints} refunded` : "";
          const what = `${quantity(points, "point")}${refunded}`;
          return ["capture", `${what}, event ${eventId}, ${formatTime(createTime)}`];
        },
      ),
  }),

  list: lists<Hold>(method.listHolds, {
    summary: "list the holds of a user",
    description: "Lists the holds of a user, those that end last first.",
    takes: [
      "<user> = userId: the user",
      "--state <state> = state: only those in this state",
      program,
    ],
    examples: ["meguri hold list alice --state HELD"],
    columns,
  }),
};

/** The answer to every change of a hold. */
type ChangeAnswer = Pick<HoldPointsResponse, "hold" | "availablePoints" | "replayed">;

function sentence(answer: ChangeAnswer, request: { readonly validateOnly: boolean }): string {
  const { hold, availablePoints, replayed } = answer;
  // The hold is as it is now, and the balance the one right after the change.
  const balance = `balance ${replayed ? "then " : ""}${availablePoints}`;
  return outcomeText(request, answer, `${about(hold)}, ${balance}`);
}

function about(hold: Hold | undefined): string {
  if (hold === undefined) return "";
  const { holdId, state, points, capturedPoints, releasedPoints, userId, until } = hold;
  const what = `${quantity(points, "point")} of ${userId} until ${formatTime(until)}`;
  const parts = `${capturedPoints} captured, ${releasedPoints} released`;
  return `${enumName(StateSchema, state)}: ${what}, ${parts} (hold ${holdId})`;
}
