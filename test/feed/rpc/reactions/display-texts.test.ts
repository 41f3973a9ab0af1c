/** Tests through gRPC what is stored of names and titles, and which of them are refused. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { submitLines } from "../../../support/fixtures/bulk-grant-calls.ts";
import { refusalOf } from "../../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../../support/servers/server.ts";
import { dump } from "../../../support/stores/dump.ts";

const targetName = { type: "post", id: "1" };

let server: MemoryServer;
let calls = 0;
beforeAll(async () => {
  server = await startMemoryServer();
  await server.reactions.registerTarget({ targetName, ownerId: "owner" });
});
afterAll(() => server.stop());

/** A call with a display text, by the field that has it. Returns what is stored of the text. */
type StoredBy = (text: string) => Promise<string | undefined>;

const stored: readonly [name: string, field: string, storedBy: StoredBy][] = [
  [
    "RegisterTarget",
    "title",
    async (title) => {
      const request = { targetName: { type: "post", id: "titled" }, ownerId: "owner", title };
      return (await server.reactions.registerTarget(request)).target?.title;
    },
  ],
  [
    "React",
    "display_name",
    async (displayName) => {
      await server.reactions.react({ targetName, userId: "u", displayName });
      const { reactions } = await server.reactions.listTargetReactions({ targetName });
      return reactions[0]?.displayName;
    },
  ],
  [
    "Notify",
    "display_name",
    async (displayName) => {
      calls += 1;
      const [ownerId, event] = [`owner-${calls}`, { kind: "comment", userId: "u", displayName }];
      await server.notifications.notify({ ...event, eventId: "e", ownerIds: [ownerId] });
      const { notifications } = await server.notifications.listNotifications({ ownerId });
      return notifications[0]?.latestEvents[0]?.displayName;
    },
  ],
  [
    "UploadBulkGrant",
    "header.title",
    async (title) => {
      calls += 1;
      const header = { bulkGrantId: `b-${calls}`, title };
      return (await submitLines(server, header, "u,1,")).title;
    },
  ],
];

/** Texts, and what is stored of them. */
const cleaned: readonly [what: string, text: string, kept: string][] = [
  ["a line break", "Ann\r\nBerg", "Ann Berg"],
  ["a control character at an end", "\u0007Ann\u0000", "Ann"],
  ["line separators", "Ann\u2028\u2029Berg", "Ann Berg"],
  ["an override", "Ann\u202egreB", "AnngreB"],
  ["isolates", "\u2066Ann\u2067 \u2068Berg\u2069", "Ann Berg"],
  ["marks of a direction", "\u061cAnn\u200e\u200f", "Ann"],
  ["blanks at the ends", "\u3000Ann\u00a0", "Ann"],
  ["300 bytes", "n".repeat(300), "n".repeat(96)],
  ["4,096 bytes of three each", "巡".repeat(1_365), "巡".repeat(32)],
  ["a family across the end", "\u{1f468}\u200d\u{1f469}\u200d\u{1f466}".repeat(9), family(5)],
  ["a family, with a variation selector", `${family(1)} \u2764\ufe0f`, `${family(1)} \u2764\ufe0f`],
  ["Persian with a zero-width non-joiner", "علی\u200cرضا", "علی\u200cرضا"],
  ["an ideographic space inside", "山田\u3000太郎", "山田\u3000太郎"],
  ["marks of its own", "e\u0301 and \u00e9", "e\u0301 and \u00e9"],
];

function family(count: number): string {
  return "\u{1f468}\u200d\u{1f469}\u200d\u{1f466}".repeat(count);
}

const invisible: readonly [what: string, text: string][] = [
  ["zero-width spaces", "\u200b\u200b"],
  ["a Hangul filler", "\u3164"],
  ["a blank Braille pattern", "\u2800"],
  ["blanks and controls", " \n\u202e\u3000"],
  ["joiners and selectors", "\u200d\ufe0f"],
  ["what is visible only behind the cut", `${"\u200b".repeat(33)}Ann`],
];

describe.each(stored)("%s", (_, field, storedBy) => {
  test.each(cleaned)("cleans and cuts: %s", async (_, text, kept) => {
    expect(await storedBy(text)).toBe(kept);
  });

  test.each(invisible)("refuses and stores nothing of %s", async (_, text) => {
    const before = await dump(server);
    expect(await refusalOf(storedBy(text))).toMatchObject({
      code: "InvalidArgument",
      reason: "INVALID_REQUEST",
      fields: [field],
    });
    expect(await dump(server)).toEqual(before);
  });
});

test("an event is the same one with another name of which the same is stored", async () => {
  const event = { eventId: "same", kind: "comment", userId: "u", ownerIds: ["replayed"] };
  const notify = (displayName: string) => server.notifications.notify({ ...event, displayName });
  await notify("Ann\nBerg");
  expect(await notify("Ann Berg\u200f")).toMatchObject({ replayed: true });
  expect(await refusalOf(notify("Ann"))).toMatchObject({ reason: "ID_REUSED" });
});
