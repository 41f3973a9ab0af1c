/** Tests how services share the places of streams. */
import { expect, test } from "vitest";
import { Places } from "../../../src/platform/streams/places.ts";

const refused = expect.objectContaining({ reason: "TOO_MANY_STREAMS", retryable: true });

/** Lets services take one place after the other, in turns, until each is refused. */
function takeAll(places: Places, services: readonly string[]): number[] {
  const taken = new Map(services.map((service) => [service, 0]));
  const asking = new Set(services);
  while (asking.size > 0) {
    for (const service of asking) {
      try {
        places.take(service, 1);
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
])("%s services that want all places get equal shares, and leave some free", (_, shares) => {
  const services = shares.map((_share, i) => `service${i}`);
  expect(takeAll(new Places(10_000), services)).toEqual(shares);
});

test("a service that comes later finds places, though another one took all that it could", () => {
  const places = new Places(10_000);
  takeAll(places, ["early"]);
  expect(takeAll(places, ["late"])).toEqual([1_600]);
});

test("a service that has more than its share gets no more, until others leave", () => {
  const places = new Places(100);
  const giveBack = places.take("other", 40);
  places.take("greedy", 48);
  expect(() => places.take("greedy", 1)).toThrow(refused);
  giveBack();
  places.take("greedy", 32);
  expect(() => places.take("greedy", 1)).toThrow(refused);
});

test("a service without any gets the last place, and all places of a stream or none", () => {
  const places = new Places(2);
  places.take("a", 1);
  expect(() => places.take("a", 1)).toThrow(refused);
  expect(() => places.take("b", 2)).toThrow(refused);
  const giveBack = places.take("b", 1);
  expect(() => places.take("c", 1)).toThrow(refused);
  giveBack();
  places.take("c", 1);
});
