/** The comments of the example, and whom they notify. A product keeps them in a store. */
import type { Meguri } from "@meguri/client";

/** The names of the people of the example, by their ids, which are all of one length. */
export const people: ReadonlyMap<string, string> = new Map([
  ["member-1001", "Aoi"],
  ["member-1002", "Ben"],
  ["member-1003", "千恵"],
]);

const targetName = { type: "post", id: "first-bonsai" };
const post = {
  targetName,
  ownerId: "member-1001",
  title: "My first bonsai",
  link: "/posts/first-bonsai",
};

interface Comments {
  /** Registers the one post of the example. */
  publishPost(): Promise<void>;
  /** Adds a comment on the post. The same id is the same comment. */
  add(id: string, personId: string): Promise<void>;
  /** Takes a comment of this person back, also out of the notification of it. */
  remove(id: string, personId: string): Promise<void>;
}

export function createComments({ reactions, notifications }: Meguri): Comments {
  const authors = new Map<string, string>();
  return {
    async publishPost() {
      await reactions.registerTarget(post);
    },
    async add(id, personId) {
      if ((authors.get(id) ?? personId) !== personId) throw new Error("this id is taken");
      authors.set(id, personId);
      await notifications.notify({
        eventId: id,
        targetName,
        kind: "comment",
        userId: personId,
        displayName: nameOf(personId),
        link: `${post.link}#${id}`,
      });
    },
    async remove(id, personId) {
      if (authors.get(id) !== personId) throw new Error("this is no comment of yours");
      await notifications.retractEvent({ eventId: id, targetName });
    },
  };
}

/** Throws for anybody else than the people of the example. */
export function nameOf(personId: string): string {
  const name = people.get(personId);
  if (name === undefined) throw new Error("nobody has this id");
  return name;
}
