/** Tests that the events process finds where a notification has moved to, with its own rights. */
import { expect, onTestFinished, test } from "vitest";
import type { ChangedRecord } from "../../../src/events/rules/change-event.ts";
import { eventsOf } from "../../../src/events/rules/events-of.ts";
import { withoutMoved } from "../../../src/events/use-cases/without-moved.ts";
import { unreadGroupRef } from "../../../src/feed/ports/records.ts";
import {
  dismissNotification,
  markNotificationRead,
} from "../../../src/feed/use-cases/notifications/commands.ts";
import { react } from "../../../src/feed/use-cases/reactions/commands.ts";
import { registerTarget } from "../../../src/feed/use-cases/reactions/targets.ts";
import { readConfig } from "../../../src/platform/config/config.ts";
import { createLogger } from "../../../src/platform/observe/log.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { composeAs } from "../../support/deploy/compose-as.ts";
import type { Role } from "../../support/deploy/policies.ts";
import { noWorkflows } from "../../support/servers/no-workflows.ts";
import { createMemoryTables } from "../../support/stores/memory-clients.ts";

const call = { caller: asService("blog"), deadline: undefined };
const target = { type: "post", id: "1" };
const ownerId = "aoi";

test("a notification that was read is not gone, and one that was dismissed is", async () => {
  const prefix = "moved-";
  const memory = createMemoryTables(prefix);
  onTestFinished(() => memory.delete());
  const config = readConfig({ MEGURI_TABLE_PREFIX: prefix, AWS_REGION: "local" }, "server");
  const open = (role: Role) => {
    const log = createLogger("test", "silent");
    const { deps, close } = composeAs([role], config, noWorkflows, log, memory.connect());
    onTestFinished(close);
    return deps;
  };
  const server = open("server");
  await registerTarget(server, { target, ownerId, title: "", link: "", ...call });
  const ref = unreadGroupRef(ownerId, target, "like");

  /** The events of the end of the unread notification, which `end` moves or ends. */
  async function typesAfter(userId: string, end: typeof markNotificationRead) {
    await react(server, { target, kind: "like", userId, displayName: userId, ...call });
    const found = await server.reader.get(ref);
    const { generation = 0 } = found?.value ?? {};
    await end(server, { ownerId, target, kind: "like", generation, version: 1_000, ...call });
    const before = [{ ...ref, ...found } as ChangedRecord];
    const change = { table: "notifications", time: 1_000, before, after: [], isExpiry: false };
    const events = await withoutMoved(
      open("events"),
      eventsOf(change, () => undefined),
    );
    return events.map(({ type }) => type);
  }
  expect(await typesAfter("ben", markNotificationRead)).toEqual([]);
  const dismiss: typeof markNotificationRead = (deps, mark) =>
    dismissNotification(deps, { generation: 0, ...mark });
  expect(await typesAfter("cho", dismiss)).toEqual(["notification.dismissed"]);
});
