/** The commands that set and delete likes. */
import { InvalidArgumentError } from "@commander-js/extra-typings";
import { ReactResponseSchema, UnreactResponseSchema } from "@meguri/client/reactions";
import { type AddCommand, examples } from "./action.ts";
import { printable } from "./output.ts";

const targetHelp = "the target: its type, a slash and its id, such as post/42";

export const addLike: AddCommand = (parent, inSession) => {
  parent
    .command("like")
    .summary("like a target as a user")
    .description("Sets a user's like. Liking twice is one like. The owner is notified.")
    .argument("<user>", "the user who likes")
    .argument("<target>", targetHelp, readTarget)
    .option("--name <name>", "the user's name as the owner sees it; the id by default")
    .addHelpText("after", examples("meguri like bao post/42 --name Bao"))
    .action(
      inSession(
        async ({ meguri, out, call }, userId, targetName, { name: displayName = userId }) => {
          const answer = await meguri.reactions.react({ targetName, userId, displayName }, call);
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

/** Ids may contain slashes, types may not. */
function readTarget(text: string): { readonly type: string; readonly id: string } {
  const slash = text.indexOf("/");
  if (slash < 1 || slash === text.length - 1) {
    throw new InvalidArgumentError("It has to be a type and an id, such as post/42.");
  }
  return { type: text.slice(0, slash), id: text.slice(slash + 1) };
}
