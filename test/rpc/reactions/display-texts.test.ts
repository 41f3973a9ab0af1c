/** Tests through gRPC which characters names and titles may have. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { refusalOf } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";
import { dump } from "../../support/stores/dump.ts";

const target = { type: "post", id: "1" };

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
  await server.reactions.registerTarget({ targetName: target, ownerId: "owner" });
});
afterAll(() => server.stop());

/** Each call with a display text, and the field that has it. */
const calls: readonly [name: string, field: string, call: (text: string) => Promise<unknown>][] = [
  [
    "RegisterTarget",
    "title",
    (title) => server.reactions.registerTarget({ targetName: target, ownerId: "owner", title }),
  ],
  [
    "React",
    "display_name",
    (displayName) => server.reactions.react({ targetName: target, userId: "u", displayName }),
  ],
  [
    "Notify",
    "display_name",
    (displayName) =>
      server.notifications.notify({
        eventId: "e",
        targetName: target,
        kind: "comment",
        userId: "u",
        displayName,
      }),
  ],
];

/** Control characters, line separators and bidirectional controls, at the ends of their ranges. */
const refused = [
  "\u0000",
  "\t",
  "\n",
  "\r",
  "\u001f",
  "\u007f",
  "\u0085",
  "\u009f",
  "\u2028",
  "\u2029",
  "\u202a",
  "\u202e",
  "\u2066",
  "\u2067",
  "\u2068",
  "\u2069",
];

const nameOf = (text: string) =>
  `U+${text.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

describe.each(calls)("%s", (_, field, call) => {
  test.each(refused.map((text) => [nameOf(text), text]))("refuses %s", async (_, text) => {
    const before = await dump(server);
    for (const name of [text, `${text}Ann`, `An${text}n`, `Ann${text}`]) {
      expect(await refusalOf(call(name))).toMatchObject({
        code: "InvalidArgument",
        reason: "INVALID_REQUEST",
        fields: [field],
      });
    }
    expect(await dump(server)).toEqual(before);
  });
});

const accepted: readonly [what: string, text: string][] = [
  ["an apostrophe", "Ann O'Neil"],
  ["Japanese", "日本語"],
  ["an ideographic space", "山田\u3000太郎"],
  ["an emoji of joined ones", "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}\u200d\u{1f466}"],
  ["an emoji with a variation selector", "Ann \u2764\ufe0f"],
  ["Arabic", "محمد"],
  ["Persian with a zero-width non-joiner", "علی\u200cرضا"],
  ["Hebrew", "שרה"],
  ["a left-to-right mark", "שרה\u200e!"],
  ["a right-to-left mark", "C\u200f"],
  ["an Arabic letter mark", "\u061cAnn"],
  ["the neighbours of what is refused", " ~\u00a0\u2027\u202f\u2065\u206a"],
];

describe("accepted and kept as it is:", () => {
  test.each(accepted)("%s", async (what, text) => {
    const post = { type: "post", id: what.replaceAll(" ", "-") };
    const request = { targetName: post, ownerId: "owner", title: text };
    expect((await server.reactions.registerTarget(request)).target?.title).toBe(text);
    await server.reactions.react({ targetName: post, userId: "u", displayName: text });
    const { reactions } = await server.reactions.listTargetReactions({ targetName: post });
    expect(reactions.map(({ displayName }) => displayName)).toEqual([text]);
  });

  test.each(accepted)("by Notify, %s", async (_, displayName) => {
    // Another field is invalid, so the refusal names it and only it.
    const request = { eventId: "e", targetName: target, kind: "No Kind", userId: "u", displayName };
    expect(await refusalOf(server.notifications.notify(request))).toMatchObject({
      reason: "INVALID_REQUEST",
      fields: ["kind"],
    });
  });
});
