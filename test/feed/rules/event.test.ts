/** Tests how events count people, against a list of the people. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  countsActor,
  type Event,
  type EventActor,
  isOnlyOfActor,
  unlink,
} from "../../../src/feed/rules/event.ts";
import { storedEvent } from "../../support/fixtures/stored-events.ts";

/** All events of one name, and what is known of their actors. */
class Events {
  events: Event[] = [];
  readonly #actors = new Map<string, EventActor>();
  #version = 0;

  notify(userId: string): void {
    const version = ++this.#version;
    const previousVersion = this.#actors.get(userId)?.latestVersion ?? 0;
    this.events.push(storedEvent({ userId, version, previousVersion }));
    this.#actors.set(userId, { userId, latestVersion: version, expireTime: 0 });
  }

  nextOf = ({ userId, version }: Event) =>
    this.events.find((each) => each.userId === userId && each.version > version);

  retract(event: Event): void {
    const { userId, version } = event;
    const known = this.#actors.get(userId) as EventActor;
    const { actor, next } = unlink(event, known, this.nextOf(event));
    if (actor) this.#actors.set(userId, actor);
    else this.#actors.delete(userId);
    this.events = this.events
      .filter((each) => each.version !== version)
      .map((each) => (each.version === next?.version ? next : each));
  }

  within(from: number, to: number): Event[] {
    return this.events.filter(({ version }) => version >= from && version <= to);
  }
}

const people = (events: readonly Event[]) => new Set(events.map(({ userId }) => userId)).size;

test("links count the people of every range of versions, also after events are retracted", () => {
  const step = fc.record({
    userId: fc.constantFrom("a", "b", "c", ""),
    retracts: fc.nat(3).map((n) => n === 0),
    at: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      const all = new Events();
      for (const { userId, retracts, at } of steps) {
        const taken = all.events[at % Math.max(1, all.events.length)];
        if (!retracts || !taken) {
          all.notify(userId);
          continue;
        }
        const range = { from: Math.max(1, taken.version - 3), to: taken.version + 3 };
        const before = people(all.within(range.from, range.to));
        const leaves = isOnlyOfActor(taken, all.nextOf(taken), range);
        all.retract(taken);
        expect(people(all.within(range.from, range.to))).toBe(before - (leaves ? 1 : 0));
      }
      for (let from = 1; from <= steps.length; from++) {
        const members = all.within(from, steps.length);
        const counted = members.filter((event) => countsActor(event, from));
        expect(counted).toHaveLength(people(members));
      }
    }),
    { seed: 25 },
  );
});
