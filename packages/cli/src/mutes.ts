/** The commands about those of whom a user is not notified. */
import { BlockPersonResponseSchema } from "@meguri/client/notifications";
import { type AddCommand, examples } from "./action.ts";
import { printable } from "./output.ts";
import { pagesOf } from "./pages.ts";

export const addBlock: AddCommand = (parent, inSession) => {
  parent
    .command("block")
    .summary("mute a person, also in what a user was notified of")
    .description("Mutes a person for a user, and takes the person out of all notifications.")
    .argument("<owner>", "the user who is notified")
    .argument("<user>", "the person")
    .addHelpText("after", examples("meguri block alice mallory"))
    .action(
      inSession(async ({ meguri, out, call }, ownerId, userId) => {
        const answer = await meguri.notifications.blockPerson({ ownerId, userId }, call);
        await out.message(BlockPersonResponseSchema, answer, ({ changed }) => {
          const done = changed ? "has blocked" : "had blocked";
          return `${printable(`${ownerId} ${done} ${userId}`)}\n`;
        });
      }),
    );
};

export const addMuted: AddCommand = (parent, inSession) => {
  parent
    .command("muted")
    .summary("list the people and targets that a user has muted")
    .description("Lists whom and what a user has muted: the people, then the targets.")
    .argument("<owner>", "the user who is notified")
    .addHelpText("after", examples("meguri muted alice"))
    .action(
      inSession(async ({ meguri: { notifications }, out, call }, ownerId) => {
        const people = pagesOf(async (page) => {
          const answer = await notifications.listMutedPeople({ ownerId, ...page }, call);
          return [answer.userIds, answer.nextPageToken];
        });
        for await (const userIds of people) {
          for (const userId of userIds)
            await out.value({ userId }, out.table([["person", userId]]));
        }
        const targets = pagesOf(async (page) => {
          const answer = await notifications.listMutedTargets({ ownerId, ...page }, call);
          return [answer.targets, answer.nextPageToken];
        });
        for await (const page of targets) {
          for (const { targetName, title } of page) {
            const { type = "", id = "" } = targetName ?? {};
            const line = out.table([["target", `${type}/${id}`, title]]);
            await out.value({ targetName: { type, id }, title }, line);
          }
        }
      }),
    );
};
