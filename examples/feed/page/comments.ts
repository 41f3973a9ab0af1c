/** Comments on the post of the example, through the service that notifies its owner of them. */
import { button, byId, element } from "./dom.ts";
import { text } from "./words.ts";

/** Shows a button that comments, and the comments of this page with buttons that delete them. */
export function showComments(personId: string): void {
  // The page chooses the id, so a click that is repeated after a failure is the same comment.
  let nextId: string = crypto.randomUUID();
  const comment = button("comment", text.comment, async () => {
    const id = nextId;
    await send("POST", id, personId);
    nextId = crypto.randomUUID();
    const remove = async () => {
      await send("DELETE", id, personId);
      item.remove();
    };
    const item = element("li", "", `${id} `, button("delete", text.delete, remove));
    byId("comments").append(item);
  });
  byId("comments").before(comment);
}

async function send(method: "POST" | "DELETE", id: string, personId: string): Promise<void> {
  const response = await fetch(`/comments/${id}?person=${personId}`, { method });
  if (!response.ok) throw new Error(await response.text());
}
