/** Tests that a scan finds each record of its kinds once, by its name, in both stores. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import {
  closedGroupRef,
  eventActorRef,
  inboxRef,
  notifiedEventRef,
  targetRef,
} from "../../src/feed/ports/records.ts";
import type { Ref } from "../../src/platform/ports/records.ts";
import type { ScannedKind } from "../../src/store/scans.ts";
import { scanTable } from "../../tools/restore/scan-table.ts";
import { eventRefOf, notifiedEvent, storedEvent } from "../support/fixtures/stored-events.ts";
import {
  far,
  inbox,
  newTarget,
  put,
  putUnread,
  reaction,
  target,
  unreadGroup,
} from "../support/fixtures/stored-reactions.ts";
import { bothStores } from "../support/stores/both-stores.ts";
import { fill, write } from "../support/stores/records.ts";

const { stores } = bothStores();

const nameOf = ({ kind, id }: Ref) => `${kind} ${id}`;

const inReactions: readonly ScannedKind[] = ["target", "reaction", "notificationEvent"];
const inNotifications: readonly ScannedKind[] = ["inbox", "unreadGroup", "notifiedEvent"];

test.each(stores)("finds each record by its name in %s", async (_, open) => {
  const store = open();
  const name = newTarget();
  const ownerId = randomUUID();
  const events = ["ann", ""].map((userId) => storedEvent({ ownerId, userId, version: 7 }));
  const group = unreadGroup(name, 3);
  const closed = { ...group, closed: { endVersion: 9, wasRead: false } };
  const written = [
    write(targetRef(name), target(name)),
    put(reaction(name, 5)),
    ...events.map((event) => write(eventRefOf(event), event)),
    write(eventActorRef({ ownerId, target: name, kind: "~x" }, "ann"), {
      ...{ userId: "ann", latestVersion: 7, expireTime: far },
    }),
    write(inboxRef(ownerId), inbox(9)),
    putUnread(ownerId, group),
    write(closedGroupRef(ownerId, name, group.kind, group.generation), closed),
    write(notifiedEventRef(ownerId, "", "notice"), notifiedEvent()),
  ];
  await fill(store.store, written);
  for (const kinds of [inReactions, inNotifications]) {
    const found = new Map<string, unknown>();
    let count = 0;
    await scanTable(store, kinds, async (records) => {
      for (const { value, ...ref } of records) found.set(nameOf(ref), value);
      count += records.length;
    });
    const wanted = written.filter(({ ref }) => kinds.includes(ref.kind as ScannedKind));
    expect(wanted).toHaveLength(4);
    expect(count).toBe(4);
    for (const { ref, value } of wanted) expect(found.get(nameOf(ref))).toEqual(value);
  }
});
