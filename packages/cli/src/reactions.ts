/** The commands that set and delete likes. */
import { ReactResponseSchema, UnreactResponseSchema } from "@meguri/client/reactions";
import { type AddCommand, examples } from "./action.ts";
import { readDuration, readTarget, regroupAfterOption, targetHelp } from "./options.ts";
import { printable } from "./output.ts";

export const addLike: AddCommand = (parent, inSession) => {
  parent
    .command("like")
    .summary("like a target as a user")
    .description(
      "Sets a user's like. Liking twice is one like, with the latest name. The owner is notified.",
    )
    .argument("<user>", "the user who likes")
    .argument("<target>", targetHelp, readTarget)
    .requiredOption("--name <name>", "the user's name as the owner sees it")
    .option(
      "--cool-down <time>",
      'how long after the owner has read an earlier like nobody is notified; "24h" by default',
      readDuration,
    )
    .addOption(regroupAfterOption())
    .addHelpText("after", examples("meguri like bao post/42 --name Bao"))
    .action(
      inSession(
        async ({ meguri, out, call }, userId, targetName, { name: displayName, ...times }) => {
          const request = { targetName, userId, displayName, ...times };
          const answer = await meguri.reactions.react(request, call);
          await out.message(ReactResponseSchema, answer, ({ changed, reactionCount }) => {
            const done = changed ? "likes" : "liked already";
            return line(
              `${userId} ${done} ${targetName.type}/${targetName.id}, likes: ${reactionCount}`,
            );
          });
        },
      ),
    );
};

export const addUnlike: AddCommand = (parent, inSession) => {
  parent
    .command("unlike")
    .summary("take back the like of a user")
    .description("Deletes a user's like, also from an unread notification.")
    .argument("<user>", "the user who liked")
    .argument("<target>", targetHelp, readTarget)
    .addHelpText("after", examples("meguri unlike bao post/42"))
    .action(
      inSession(async ({ meguri, out, call }, userId, targetName) => {
        const answer = await meguri.reactions.unreact({ targetName, userId }, call);
        await out.message(UnreactResponseSchema, answer, ({ changed, reactionCount }) => {
          const done = changed ? "no longer likes" : "did not like";
          return line(
            `${userId} ${done} ${targetName.type}/${targetName.id}, likes: ${reactionCount}`,
          );
        });
      }),
    );
};

const line = (text: string): string => `${printable(text)}\n`;
