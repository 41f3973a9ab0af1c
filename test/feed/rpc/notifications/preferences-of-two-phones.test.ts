/** Tests through gRPC that two phones of one owner do not undo each other's preferences. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PreferencesSchema } from "../../../../src/gen/meguri/notifications/v1/notification_pb.ts";
import { createOwner, type Owner } from "../../../support/fixtures/owners.ts";
import { reasonOf, refusalOf, toRefusal } from "../../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../../support/servers/server.ts";
import { dump } from "../../../support/stores/dump.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

/** What a phone knows of the preferences, and what it can do. */
function createPhone({ ownerId }: Owner) {
  let known = create(PreferencesSchema, { ownerId });
  return {
    async read() {
      const { preferences } = await server.notifications.getPreferences({ ownerId });
      known = preferences as typeof known;
      return known;
    },

    /** Sends all that the phone knows, with its own changes and the etag that it has read. */
    async replace(changes: MessageInitShape<typeof PreferencesSchema>) {
      const preferences = create(PreferencesSchema, { ...known, ...changes });
      const updateMask = { paths: ["*"] };
      const answer = await server.notifications.updatePreferences({ preferences, updateMask });
      known = answer.preferences as typeof known;
      return known;
    },

    /** Sends the named fields alone, with the etag that the phone has read. */
    async change(changes: MessageInitShape<typeof PreferencesSchema>, ...paths: string[]) {
      const preferences = { ...changes, ownerId, etag: known.etag };
      const updateMask = { paths };
      const answer = await server.notifications.updatePreferences({ preferences, updateMask });
      known = answer.preferences as typeof known;
      return known;
    },
  };
}

describe("two phones", () => {
  test("that send back what they have read: the later one is refused and reads again", async () => {
    const owner = createOwner(server);
    const [one, two] = [createPhone(owner), createPhone(owner)];
    expect((await one.read()).etag).toBe((await two.read()).etag);
    await one.replace({ mutedKinds: ["wow"] });
    const before = await dump(server);
    expect(await refusalOf(two.replace({ allMuted: true }))).toMatchObject({
      code: "FailedPrecondition",
      reason: "ETAG_MISMATCH",
    });
    expect(await dump(server)).toEqual(before);
    await two.read();
    const both = { allMuted: true, mutedKinds: ["wow"] };
    expect(await two.replace({ allMuted: true })).toMatchObject(both);
    expect(await one.read()).toMatchObject(both);
  });

  test("that update at the same time: one is accepted, the other one refused", async () => {
    const owner = createOwner(server);
    const phones = Array.from({ length: 8 }, () => createPhone(owner));
    await Promise.all(phones.map((phone) => phone.read()));
    const updates = phones.map((phone, i) => phone.replace({ mutedKinds: [`k${i}`] }));
    const results = await Promise.allSettled(updates);
    const accepted = results.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    expect(accepted).toHaveLength(1);
    for (const each of results) {
      if (each.status === "rejected")
        expect(await reasonOf(Promise.reject(each.reason))).toBe("ETAG_MISMATCH");
    }
    expect(await createPhone(owner).read()).toEqual(accepted[0]);
  });

  test("that change one list at the same time: all changes hold in the end", async () => {
    const owner = createOwner(server);
    const phones = ["wow", "like", "haha"].map((kind) => ({ kind, phone: createPhone(owner) }));
    const mute = async ({ kind, phone }: (typeof phones)[number]): Promise<void> => {
      const { mutedKinds } = await phone.read();
      try {
        await phone.change({ mutedKinds: [...mutedKinds, kind] }, "muted_kinds");
      } catch (error) {
        expect(toRefusal(error).reason).toBe("ETAG_MISMATCH");
        await mute({ kind, phone });
      }
    };
    await Promise.all(phones.map(mute));
    expect(await createPhone(owner).read()).toMatchObject({ mutedKinds: ["haha", "like", "wow"] });
  });
});

describe("an update", () => {
  test("without an etag is refused", async () => {
    const { ownerId } = createOwner(server);
    const before = await dump(server);
    const update = server.notifications.updatePreferences({
      preferences: { ownerId, allMuted: true },
    });
    expect(await refusalOf(update)).toMatchObject({
      reason: "INVALID_REQUEST",
      fields: ["preferences"],
    });
    expect(await dump(server)).toEqual(before);
  });

  test("sets a field of the mask to what the request has, also if that is empty", async () => {
    const phone = createPhone(createOwner(server));
    await phone.read();
    await phone.replace({ allMuted: true, mutedKinds: ["wow"], mutedEventKinds: ["b", "a"] });
    const kinds = { mutedKinds: ["wow"], mutedEventKinds: ["a", "b"] };
    expect(await phone.change({ mutedKinds: ["like"] }, "all_muted")).toMatchObject({
      allMuted: false,
      ...kinds,
    });
    expect(await phone.change({}, "muted_event_kinds")).toMatchObject({
      ...kinds,
      mutedEventKinds: [],
    });
    expect(await phone.change({}, "muted_kinds")).toMatchObject({ mutedKinds: [] });
  });

  test("without a mask changes the fields that are not empty", async () => {
    const phone = createPhone(createOwner(server));
    await phone.read();
    await phone.change({ mutedKinds: ["wow"] });
    expect(await phone.change({ allMuted: true })).toMatchObject({
      allMuted: true,
      mutedKinds: ["wow"],
    });
    expect(await phone.change({})).toMatchObject({ allMuted: true, mutedKinds: ["wow"] });
  });

  test("that was sent before and changes nothing is accepted with the etag of then", async () => {
    const owner = createOwner(server);
    const { ownerId } = owner;
    const phone = createPhone(owner);
    const { etag } = await phone.read();
    const updated = await phone.replace({ allMuted: true });
    expect(updated.etag).not.toBe(etag);
    const before = await dump(server);
    expect(await phone.replace({ ownerId, allMuted: true, etag })).toEqual(updated);
    expect(await dump(server)).toEqual(before);
  });

  test("to nothing, of an owner without any, takes any etag and stores nothing", async () => {
    const owner = createOwner(server);
    const phone = createPhone(owner);
    const { etag } = await phone.read();
    const before = await dump(server);
    expect(await phone.replace({ etag: "old" })).toMatchObject({ allMuted: false, etag });
    expect(await dump(server)).toEqual(before);
    expect(await owner.badge()).toBe("0 people in 0 at 0");
  });

  test("changes the etag, and reactions do not", async () => {
    const owner = createOwner(server);
    const phone = createPhone(owner);
    const { etag } = await phone.read();
    await owner.register("x");
    await owner.react("x", "A");
    expect((await phone.read()).etag).toBe(etag);
    await phone.replace({ mutedKinds: ["wow"] });
    expect((await phone.read()).etag).not.toBe(etag);
  });
});
