/** Tests that a retraction finds the notification of its event while a mark as read is applied. */
import { expect, test } from "vitest";
import { noTarget } from "../../../../src/feed/rules/event.ts";
import { markNotificationRead } from "../../../../src/feed/use-cases/notifications/commands.ts";
import { notify } from "../../../../src/feed/use-cases/notifications/notify.ts";
import { getNotification } from "../../../../src/feed/use-cases/notifications/queries.ts";
import { retractEvent } from "../../../../src/feed/use-cases/notifications/retract.ts";
import type { Deps } from "../../../../src/hub/deps.ts";
import { asService } from "../../../../src/platform/words/caller.ts";
import { memoryDeps } from "../../../support/stores/memory-store.ts";

const ownerId = "owner";
const caller = asService("blog");

test("a read notification that a plain read does not show yet loses the event", async () => {
  const { deps } = memoryDeps();
  for (const eventId of ["e1", "e2"]) {
    const actor = { userId: eventId, displayName: eventId };
    await notify(deps, { kind: "comment", ownerIds: [ownerId], caller, eventId, actor });
  }
  const name = { ownerId, target: noTarget, kind: "~comment", generation: 1 };
  await markNotificationRead(deps, { ...name, version: 2 });
  let reads = 0;
  const reader: Deps["reader"] = {
    ...deps.reader,
    // Half of the mark is applied: the unread notification is gone, the read one is not there yet.
    readGroupFrom: async (...given) =>
      ++reads === 1 ? undefined : deps.reader.readGroupFrom(...given),
  };
  const event = { eventId: "e2", ownerIds: [ownerId], caller };
  expect(await retractEvent({ ...deps, reader }, event)).toEqual([{ ownerId, changed: true }]);
  expect(await getNotification(deps, name)).toMatchObject({ eventCount: 1, actorCount: 1 });
});
