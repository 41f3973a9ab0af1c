/** Tests that keys are spread evenly over servers, and stay where they are. */
import { expect, test } from "vitest";
import { hashOf, weightOf } from "../../packages/client/src/rendezvous.ts";

const addresses = ["10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.3:8080", "10.0.0.4:8080"];
const keys = Array.from({ length: 20_000 }, (_, i) => `a/default/user-${i}`);

/** The server of a key, by comparing all weights. */
function serverOf(key: string, servers: readonly string[]): string {
  const weights = servers.map((server) => weightOf(hashOf(key), hashOf(server)));
  return servers[weights.indexOf(Math.max(...weights))] as string;
}

test("each of four servers gets a fourth of the keys", () => {
  const counts = new Map<string, number>();
  for (const key of keys) {
    const server = serverOf(key, addresses);
    counts.set(server, (counts.get(server) ?? 0) + 1);
  }
  // The standard deviation of a count is 61 keys.
  for (const address of addresses) {
    expect(Math.abs((counts.get(address) ?? 0) - keys.length / 4)).toBeLessThan(400);
  }
});

test("only the keys of a server that goes are moved, and to all others", () => {
  const [gone, ...others] = addresses as [string, ...string[]];
  const moved = new Set<string>();
  const changed = keys.filter((key) => {
    const before = serverOf(key, addresses);
    const after = serverOf(key, others);
    if (before === gone) moved.add(after);
    return before !== gone && before !== after;
  });
  expect(changed).toEqual([]);
  expect(moved).toEqual(new Set(others));
});

test("all versions of the client agree", () => {
  expect(hashOf("a/default/aoi")).toBe(52_948_345);
  expect(serverOf("a/default/aoi", addresses)).toBe("10.0.0.1:8080");
  expect(serverOf("o/ben", addresses)).toBe("10.0.0.1:8080");
});
