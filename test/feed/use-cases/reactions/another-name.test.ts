/** Tests which notifications show the name with which a person reacts again. */
import { expect, test } from "vitest";
import { blockPerson } from "../../../../src/feed/use-cases/notifications/block-person.ts";
import { markAllNotificationsRead } from "../../../../src/feed/use-cases/notifications/commands.ts";
import { listNotifications } from "../../../../src/feed/use-cases/notifications/queries.ts";
import { react } from "../../../../src/feed/use-cases/reactions/commands.ts";
import { registerTarget } from "../../../../src/feed/use-cases/reactions/targets.ts";
import { memoryDeps } from "../../../support/stores/memory-store.ts";

const hour = 3_600_000;
const ownerId = "owner";

async function createTarget() {
  const { deps, clock } = memoryDeps();
  const target = { type: "post", id: "1" };
  await registerTarget(deps, { target, ownerId, title: "", link: "" });
  return {
    deps,
    clock,
    like: (userId: string, displayName = userId, regroupAfterMs?: number) =>
      react(deps, { target, kind: "like", userId, displayName, regroupAfterMs }),
    /** The names of the first people of each notification. */
    async names() {
      const page = { size: 10, cursor: undefined };
      const { items } = await listNotifications(deps, { ownerId, state: "ALL", kinds: [] }, page);
      return items.map(({ firstPeople }) => firstPeople.map(({ displayName }) => displayName));
    },
  };
}

test("an unread notification shows it, also one that takes in nobody new", async () => {
  const { clock, like, names } = await createTarget();
  await like("ann");
  clock.time += 2 * hour;
  await like("ben", "ben", hour);
  await like("ann", "Ann");
  await like("ben", "Ben");
  expect(await names()).toEqual([["Ben"], ["Ann"]]);
});

test("a read one keeps the names that it shows", async () => {
  const { deps, clock, like, names } = await createTarget();
  for (const userId of ["ann", "ben", "cy", "dan", "eve", "fay"]) await like(userId);
  await markAllNotificationsRead(deps, { ownerId, version: 6 });
  await like("ann", "Ann");
  await like("cy", "Cy");
  expect(await names()).toEqual([["ann", "ben"]]);
  clock.time += hour;
  // Whom it has not shown yet is read from the record of the reaction.
  await blockPerson(deps, { ownerId, userId: "ben" });
  expect(await names()).toEqual([["ann", "Cy"]]);
});
