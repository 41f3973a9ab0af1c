/** Tests from when on, and for how long, a person whose like was read makes no further line. */
import { expect, test } from "vitest";
import { markAllNotificationsRead } from "../../../../src/feed/use-cases/notifications/commands.ts";
import { inboxOf } from "../../../../src/feed/use-cases/notifications/inbox.ts";
import { react, unreact } from "../../../../src/feed/use-cases/reactions/commands.ts";
import { registerTarget } from "../../../../src/feed/use-cases/reactions/targets.ts";
import { memoryDeps } from "../../../support/stores/memory-store.ts";

const hour = 3_600_000;

async function createLiked() {
  const { deps, clock } = memoryDeps();
  const target = { type: "post", id: "1" };
  await registerTarget(deps, { target, ownerId: "owner", title: "", link: "" });
  const like = { target, kind: "like", userId: "ben", displayName: "Ben" };
  const day = 24 * hour;
  return {
    like: (coolDownMs = day) => react(deps, { ...like, coolDownMs }),
    unlike: () => unreact(deps, like),
    exclusive: (kind: string) => react(deps, { ...like, kind, exclusive: true, coolDownMs: day }),
    read: () => markAllNotificationsRead(deps, { ownerId: "owner", version: 1_000 }),
    wait(hours: number) {
      clock.time += hours * hour;
    },
    lines: async () => (await inboxOf(deps, "owner")).notificationCount,
  };
}

test.each([1, 23, 25])("counts from when a like of %i hours was read", async (age) => {
  const { like, unlike, read, wait, lines } = await createLiked();
  await like();
  wait(age);
  await read();
  await unlike();
  await like();
  expect(await lines()).toBe(0);
  await unlike();
  wait(23.9);
  await like();
  expect(await lines()).toBe(0);
  await unlike();
  wait(0.2);
  await like();
  expect(await lines()).toBe(1);
});

test("holds for the kinds to which an exclusive reaction switches: one line", async () => {
  const { exclusive, read, lines } = await createLiked();
  let total = 0;
  for (const kind of ["like", "love", "haha", "wow", "sad", "like"]) {
    await exclusive(kind);
    total += await lines();
    await read();
  }
  expect(total).toBe(1);
});
