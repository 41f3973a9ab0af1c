/** The commands that notify users of events, and take events back. */
import { NotifyResponseSchema, RetractEventResponseSchema } from "@meguri/client/notifications";
import { type AddCommand, examples } from "./action.ts";
import { UsageError } from "./errors.ts";
import {
  causeOption,
  eventIdOption,
  readTarget,
  regroupAfterOption,
  targetHelp,
} from "./options.ts";

export const addNotify: AddCommand = (parent, inSession) => {
  parent
    .command("notify")
    .summary("notify users of an event")
    .description(
      "Notifies the owner of a target of an event, or the users that are named. Without --user " +
        "the event has no actor, and the name is what is displayed, such as an amount.",
    )
    .argument("<kind>", "the kind of event, such as comment")
    .option("--target <target>", targetHelp, readTarget)
    .option("--owner <users...>", "the users who are notified; the target's owner by default")
    .option("--user <user>", "the user who has caused the event")
    .option(
      "--name <name>",
      "the name of this user, required with --user, or what is displayed of the event",
    )
    .option("--link <link>", "where a click leads: a URL, or a path that begins with /")
    .addOption(regroupAfterOption())
    .addOption(eventIdOption())
    .addOption(causeOption())
    .addHelpText(
      "after",
      examples(
        "meguri notify comment --target post/42 --user bao --name Bao --event-id comment-81",
        "meguri notify delivery --owner alice --name '2 bowls' --link /orders/7",
      ),
    )
    .action(
      inSession(async (session, kind, options) => {
        const { meguri, out, call } = session;
        const { target: targetName, owner: ownerIds = [], user: userId = "" } = options;
        if (!targetName && ownerIds.length === 0) {
          throw new UsageError("notify needs --target, --owner or both");
        }
        const { name: displayName = "", link = "", cause = "", regroupAfter } = options;
        if (userId !== "" && displayName === "") {
          throw new UsageError("notify needs --name with --user: the name that owners see");
        }
        const eventId = await session.chooseId("eventId", options.eventId);
        const request = { eventId, kind, userId, displayName, link, cause, ownerIds };
        const answer = await meguri.notifications.notify(
          { ...request, ...(targetName && { targetName }), ...(regroupAfter && { regroupAfter }) },
          call,
        );
        await out.message(NotifyResponseSchema, answer, ({ results }) =>
          out.table(
            results.map(({ ownerId, notified, replayed, retracted }) => [
              ownerId,
              retracted ? "retracted" : notified ? "unread" : "not unread",
              replayed ? "replayed: an earlier call had notified of it" : "",
            ]),
          ),
        );
      }),
    );
};

export const addRetract: AddCommand = (parent, inSession) => {
  parent
    .command("retract")
    .summary("take an event back")
    .description(
      "Takes an event back that the calling service has notified of. It leaves the notification, " +
        "read or unread, and the unread count.",
    )
    .argument("<event-id>", "the id of the event")
    .option("--target <target>", `${targetHelp}, if its owner was notified`, readTarget)
    .option("--owner <users...>", "the users who were notified, if they were named")
    .addHelpText("after", examples("meguri retract comment-81 --target post/42"))
    .action(
      inSession(async ({ meguri, out, call }, eventId, { target: targetName, owner: ownerIds }) => {
        if (!targetName && !ownerIds) {
          throw new UsageError("retract needs --target, --owner or both, as notify had them");
        }
        const request = {
          eventId,
          ...(targetName && { targetName }),
          ...(ownerIds && { ownerIds }),
        };
        const answer = await meguri.notifications.retractEvent(request, call);
        await out.message(RetractEventResponseSchema, answer, ({ results }) =>
          out.table(
            results.map(({ ownerId, changed }) => [ownerId, changed ? "retracted" : "unchanged"]),
          ),
        );
      }),
    );
};
