/** Tests the commands that call again while an answer has a token, on a terminal. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { notify } from "../../src/feed/use-cases/notifications/notify.ts";
import { ListNotificationsRequest_State as State } from "../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { type CommandLine, startCommandLine } from "../support/servers/cli.ts";
import { type MemoryServer, startMemoryServer } from "../support/servers/server.ts";

let server: MemoryServer;
let meguri: CommandLine;
beforeAll(async () => {
  server = await startMemoryServer();
  meguri = await startCommandLine("terminal", { MEGURI_URL: `http://127.0.0.1:${server.port}` });
});
afterAll(async () => {
  await meguri?.close();
  await server.stop();
});

const caller = asService("blog");
const actor = { userId: "eve", displayName: "Eve" };

const report = (ownerId: string, id: string) =>
  notify(server.deps, { eventId: id, kind: id, ownerIds: [ownerId], actor, caller });

/** Unread notifications of different kinds, each of one event. */
async function manyUnread(ownerId: string, count = 520): Promise<void> {
  for (let i = 1; i <= count; i++) await report(ownerId, `k${i}`);
}

test("read-all prints after each share how many are read", async () => {
  await manyUnread("reader");
  const running = meguri.start("notification", "read-all", "reader");
  await running.printed("512 read; 8 unread");
  expect(await running.done).toMatchObject({
    code: 0,
    stdout: "512 read; 8 unread\n520 read; 0 unread\n",
  });
  const { stdout } = await meguri.run("notification", "read-all", "reader", "--json");
  expect(JSON.parse(stdout)).toMatchObject({ markedCount: "0", nextPageToken: "" });
});

test("read-all that is interrupted has read its shares, and a further one the rest", async () => {
  await manyUnread("busy");
  const running = meguri.start("notification", "read-all", "busy");
  // The store serves the second share only once the command has ended.
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  let read = 0;
  server.store.arriving = async ({ writes }) => {
    read += writes.filter(({ ref }) => ref.kind === "readGroup").length;
    if (read > 512) await ended;
    return undefined;
  };
  await running.printed("512 read; 8 unread");
  running.interrupt();
  expect((await running.done).code).toBe(130);
  server.store.arriving = undefined;
  resolve();
  const { code, stdout } = await meguri.run("notification", "read-all", "busy");
  // The call that was interrupted goes on in the server.
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^\d read; 0 unread\n$/)]);
});

test("read-all leaves unread what comes in while it runs", async () => {
  await manyUnread("liked");
  const { store } = server;
  let late: Promise<unknown> | undefined;
  store.arriving = ({ op, writes }) => {
    const isPage = op === "commit" && writes.some(({ ref }) => ref.kind === "readGroup");
    if (isPage) late ??= report("liked", "late");
    return undefined;
  };
  const { stdout } = await meguri.run("notification", "read-all", "liked");
  store.arriving = undefined;
  await late;
  expect(stdout).toMatch(/^512 read; .*\n520 read; /);
  const { notifications } = await server.notifications.listNotifications({
    ownerId: "liked",
    state: State.UNREAD,
  });
  expect(notifications.map(({ kind }) => kind)).toEqual(["late"]);
});

test("block says once what it has done, and prints every answer as JSON", async () => {
  await manyUnread("owner");
  expect(await meguri.run("block", "owner", "eve")).toMatchObject({
    code: 0,
    stdout: "owner has blocked eve\n",
  });
  const { unreadCount } = await server.notifications.getUnreadCount({ ownerId: "owner" });
  expect(unreadCount).toMatchObject({ notificationCount: 0n });
  await manyUnread("other");
  const { stdout } = await meguri.run("block", "other", "eve", "--json");
  const answers = stdout.trim().split("\n");
  expect(answers.map((answer) => JSON.parse(answer))).toMatchObject([
    { changed: true, nextPageToken: expect.stringMatching(/./) },
    { changed: true, unreadCount: { notificationCount: "0" }, nextPageToken: "" },
  ]);
});
