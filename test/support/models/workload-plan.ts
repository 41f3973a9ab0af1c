/** Draws the operations of the fault workload. */
import { randomFrom } from "./random.ts";
import type { Operation } from "./workload-operations.ts";

type Kind = Operation["kind"];

/** How often each kind of operation is drawn, of 100 times. */
const weights: Readonly<Record<Kind, number>> = {
  grant: 24,
  use: 20,
  refund: 10,
  revoke: 6,
  extend: 9,
  hold: 15,
  capture: 12,
  release: 4,
};
const kinds = Object.entries(weights).flatMap(([kind, weight]) => Array(weight).fill(kind));

/** The kinds of operations that an operation may name. */
const reversible: Readonly<Partial<Record<Kind, readonly Kind[]>>> = {
  refund: ["use", "capture"],
  revoke: ["grant", "extend"],
  extend: ["grant", "extend"],
  capture: ["hold"],
  release: ["hold"],
};

/**
 * Random operations on some accounts. Refunds, revokes and extensions, captures and releases name
 * recent operations, and are grants where there are none; no two releases name the same hold.
 */
export function plan(seed: number, count: number, accounts: number): Operation[] {
  const random = randomFrom(seed);
  const all: Operation[] = [];
  for (let i = 0; i < count; i++) {
    const userId = `user-${Math.floor(random() * accounts)}`;
    const drawn = kinds[Math.floor(random() * kinds.length)] as Kind;
    const own = all.filter((each) => each.userId === userId);
    const released = own.filter((each) => each.kind === "release").map((each) => each.reverses);
    const latest = own
      .filter((each) => reversible[drawn]?.includes(each.kind))
      .filter((each) => drawn !== "release" || !released.includes(each.id))
      .slice(-4);
    const named = latest[Math.floor(random() * latest.length)];
    const kind = reversible[drawn] && !named ? "grant" : drawn;
    const points = 1 + Math.floor(random() * 50);
    const reverses = named?.id ?? "nothing";
    const holdId = kind === "refund" && named?.kind === "capture" ? named.reverses : undefined;
    all.push({ id: `op-${i}`, userId, kind, points, reverses, ...(holdId && { holdId }) });
  }
  return all;
}
