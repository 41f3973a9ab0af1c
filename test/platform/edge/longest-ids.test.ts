/** Tests that every RPC takes the longest ids, of all characters that ids may have. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeId } from "../../../src/feed/rpc/notifications/ids.ts";
import { EventOrigin } from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import { goodRequests, type Init } from "../../support/fixtures/good-requests.ts";
import { callRpc, rpcs } from "../../support/servers/any-rpc.ts";
import { toRefusal } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

/** Ids as long as they may be. */
interface Ids {
  readonly userId: string;
  readonly ownerId: string;
  readonly targetId: string;
  readonly bulkGrantId: string;
  readonly kind: string;
}

const visible = fc.constantFrom(
  ...Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).filter((c) => c !== "#"),
);
const textOf = (length: number) =>
  fc.string({ unit: visible, minLength: length, maxLength: length });
/** Quotes and backslashes take the most bytes where ids are in JSON. */
const idOf = (length: number) =>
  fc.oneof(
    textOf(length),
    fc.constantFrom("\\", '"').map((c) => c.repeat(length)),
  );

const allIds: fc.Arbitrary<Ids> = fc.record({
  userId: idOf(128),
  ownerId: idOf(128).map((id) => `o${id.slice(1)}`),
  targetId: idOf(256),
  bulkGrantId: fc.oneof(idOf(128), fc.constant(`20221101_${"キャンペーン".repeat(6)}1/~'"&`)),
  kind: fc.oneof(
    idOf(63).map((text) => `+${text}`),
    fc.constantFrom("+1", "-1", "👍", "👩‍💻", "名".repeat(21)),
  ),
});

async function withServer(act: (server: MemoryServer) => Promise<void>): Promise<void> {
  const server = await startMemoryServer();
  try {
    await act(server);
  } finally {
    await server.stop();
  }
}

/** A good request with these ids, which is not only tried. */
function withIds(value: unknown, ids: Ids): unknown {
  const { userId, ownerId, targetId, bulkGrantId, kind } = ids;
  const target = { type: "post", id: targetId };
  const replaced: Init = {
    userId,
    viewerId: userId,
    ownerId,
    ownerIds: [ownerId],
    targetName: target,
    targetNames: [target],
    kind,
    kinds: [kind],
    reactionKinds: [kind],
    eventKinds: [kind],
    mutedKinds: [kind],
    mutedEventKinds: [kind],
    bulkGrantId,
    reversedBulkGrantId: bulkGrantId,
    grantEvent: { origin: EventOrigin.BULK_GRANT, eventId: `${bulkGrantId}_${userId}` },
    notificationId: encodeId({ ownerId, target, kind, generation: 1 }),
    validateOnly: false,
  };
  if (Array.isArray(value)) return value.map((each) => withIds(each, ids));
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, replaced[name] ?? withIds(field, ids)]),
  );
}

/** What good requests of some RPCs are refused for by a new server, whatever the ids are. */
const others = new Set(["", "end", "version", "source", "destination"]);

test("every RPC takes them", async () => {
  await fc.assert(
    fc.asyncProperty(allIds, (given) =>
      withServer(async (server) => {
        for (const rpc of [...rpcs, ...rpcs]) {
          const request = withIds(goodRequests[rpc.name], given) as Init;
          const call = callRpc(rpc, server.handlers, request, {
            headers: { "meguri-caller": "tests" },
          });
          const refusal = await call.then(() => undefined, toRefusal);
          const { reason = "", fields = [] } = refusal ?? {};
          const refused = fields.filter((field) => !others.has(field));
          expect({ rpc: rpc.name, refused }).toEqual({ rpc: rpc.name, refused: [] });
          expect({ rpc: rpc.name, reason }).not.toMatchObject({ reason: "INTERNAL" });
        }
      }),
    ),
    { numRuns: 3 },
  );
});

/** Reads all pages of one item each. */
async function pagesOf<T>(
  read: (pageToken: string) => Promise<{ nextPageToken: string } & T>,
): Promise<T[]> {
  const pages: T[] = [];
  let token = "";
  do {
    const page = await read(token);
    pages.push(page);
    token = page.nextPageToken;
  } while (token !== "");
  return pages;
}

describe("lists, page by page", () => {
  test("of reactions and notifications", async () => {
    await fc.assert(
      fc.asyncProperty(allIds, ({ userId, ownerId, targetId, kind }) =>
        withServer(async ({ reactions, notifications }) => {
          const users = ["1", "2", "3"].map((end) => userId.slice(0, -1) + end);
          const targets = ["1", "2"].map((end) => ({
            type: "t".repeat(20),
            id: targetId.slice(0, -1) + end,
          }));
          for (const targetName of targets) {
            await reactions.registerTarget({ targetName, ownerId });
            for (const [i, user] of users.entries()) {
              const person = { userId: user, displayName: "名".repeat(32) };
              await reactions.react({ targetName, kind, ...person });
              await notifications.notify({
                ...{
                  eventId: `${i}${targetName.id.slice(-1)}`,
                  targetName,
                  kind,
                  ...person,
                },
              });
            }
          }
          const [targetName] = targets;
          const ofTarget = await pagesOf((pageToken) =>
            reactions.listTargetReactions({ targetName, kind, pageSize: 1, pageToken }),
          );
          const found = ofTarget.flatMap((page) => page.reactions.map((each) => each.userId));
          expect(found).toEqual(users.toReversed());
          const ofUser = await pagesOf((pageToken) =>
            reactions.listUserReactions({ userId: users[0] ?? "", pageSize: 1, pageToken }),
          );
          expect(ofUser.flatMap((page) => page.reactions)).toHaveLength(2);
          const listed = await pagesOf((pageToken) =>
            notifications.listNotifications({ ownerId, pageSize: 1, pageToken }),
          );
          const all = listed.flatMap((page) => page.notifications);
          expect(all).toHaveLength(4);
          for (const { notificationId, version } of all) {
            const actors = await pagesOf((pageToken) =>
              notifications.listNotificationActors({
                ...{ ownerId, notificationId, pageSize: 1, pageToken },
              }),
            );
            expect(actors.flatMap((page) => page.actors)).toHaveLength(3);
            await notifications.markNotificationRead({ ownerId, notificationId, version });
            await notifications.markNotificationUnread({ ownerId, notificationId });
          }
          for (const user of users) {
            await notifications.setPersonMuted({ ownerId, userId: user, muted: true });
          }
          const muted = await pagesOf((pageToken) =>
            notifications.listMutedPeople({ ownerId, pageSize: 1, pageToken }),
          );
          expect(muted.flatMap((page) => page.userIds)).toHaveLength(3);
          for (const each of targets) {
            await notifications.setTargetMuted({ ownerId, targetName: each, muted: true });
          }
          const mutedTargets = await pagesOf((pageToken) =>
            notifications.listMutedTargets({ ownerId, pageSize: 1, pageToken }),
          );
          expect(mutedTargets.flatMap((page) => page.targets)).toHaveLength(2);
        }),
      ),
      { numRuns: 3 },
    );
  });
});
