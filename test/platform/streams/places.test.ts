/** Tests how services share the slots of streams. */
import { expect, test } from "vitest";
import { StreamSlots } from "../../../src/platform/streams/stream-slots.ts";

const refused = expect.objectContaining({ reason: "TOO_MANY_STREAMS", retryable: true });

/** Lets services take one slot after the other, in turns, until each is refused. */
function takeAll(slots: StreamSlots, services: readonly string[]): number[] {
  const taken = new Map(services.map((service) => [service, 0]));
  const asking = new Set(services);
  while (asking.size > 0) {
    for (const service of asking) {
      try {
        slots.take(service, 1);
        taken.set(service, (taken.get(service) ?? 0) + 1);
      } catch (error) {
        expect(error).toEqual(refused);
        asking.delete(service);
      }
    }
  }
  return [...taken.values()];
}

test.each([
  ["one", [8_000]],
  ["two", [4_444, 4_444]],
  ["three", [3_077, 3_077, 3_076]],
])("%s services that want all slots get equal shares, and leave some free", (_, shares) => {
  const services = shares.map((_share, i) => `service${i}`);
  expect(takeAll(new StreamSlots(10_000), services)).toEqual(shares);
});

test("a service that comes later finds slots, though another one took all that it could", () => {
  const slots = new StreamSlots(10_000);
  takeAll(slots, ["early"]);
  expect(takeAll(slots, ["late"])).toEqual([1_600]);
});

test("a service that has more than its share gets no more, until others leave", () => {
  const slots = new StreamSlots(100);
  const giveBack = slots.take("other", 40);
  slots.take("greedy", 48);
  expect(() => slots.take("greedy", 1)).toThrow(refused);
  giveBack();
  slots.take("greedy", 32);
  expect(() => slots.take("greedy", 1)).toThrow(refused);
});

test("a service without any gets the last slot, and all slots of a stream or none", () => {
  const slots = new StreamSlots(2);
  slots.take("a", 1);
  expect(() => slots.take("a", 1)).toThrow(refused);
  expect(() => slots.take("b", 2)).toThrow(refused);
  const giveBack = slots.take("b", 1);
  expect(() => slots.take("c", 1)).toThrow(refused);
  giveBack();
  slots.take("c", 1);
});
