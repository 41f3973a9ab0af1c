/** One account in a program on a store in memory, and short words for what happens to it. */
import type { ChangeResult } from "../../src/app/change-account.ts";
import { grantPoints, refundPoints, revokePoints, usePoints } from "../../src/app/points.ts";
import { accountRef, type Deps, programRef, type Ref } from "../../src/app/ports.ts";
import { getBalance } from "../../src/app/read-points.ts";
import { verifyAccount } from "../../src/app/verify-points.ts";
import type { Account } from "../../src/domain/account.ts";
import { nameOf, type Write } from "../../src/store/items.ts";
import { delayedBy } from "../support/item-by-item.ts";
import { memoryDeps, type Request } from "../support/memory-store.ts";

export const program = "p";
export const user = "u";
export const account = accountRef(program, user);

/** Something that holds requests until it is opened. */
export interface Gate {
  /** Resolves when the first request has come to it. */
  readonly reached: Promise<void>;
  readonly passed: Promise<void>;
  reach(): void;
  open(): void;
}

export function createGate(): Gate {
  const reached = Promise.withResolvers<void>();
  const passed = Promise.withResolvers<void>();
  return {
    reached: reached.promise,
    passed: passed.promise,
    reach: () => reached.resolve(),
    open: () => passed.resolve(),
  };
}

/** What a caller says besides the points. */
export interface Words {
  readonly deadline?: number;
  readonly user?: string;
}

const said = (eventId: string, { deadline, user: whose }: Words) => ({
  program,
  user: whose ?? user,
  eventId,
  reason: "",
  caller: "test",
  deadline,
});

export const grant = (deps: Deps, id: string, points: number, words: Words = {}) =>
  grantPoints(deps, { ...said(id, words), points });

export const use = (deps: Deps, id: string, points: number, words: Words = {}) =>
  usePoints(deps, { ...said(id, words), points, allowPartial: false });

export const refund = (deps: Deps, id: string, useEventId: string, points?: number) =>
  refundPoints(deps, { ...said(id, {}), useEventId, points, expired: "ORIGINAL_EXPIRY" });

export const revoke = (deps: Deps, id: string, granted: string) =>
  revokePoints(deps, { ...said(id, {}), grant: { origin: "c", id: granted } });

export const balance = async (deps: Deps, whose = user): Promise<number> =>
  (await getBalance(deps, { program, user: whose })).available;

/** Every difference between the account and its ledger. */
export const differences = async (deps: Deps, whose = user) =>
  (await verifyAccount(deps, { program, user: whose }, false)).differences;

/** The reason of a refusal, the message of any other error, or what was answered. */
export const answer = (
  call: Promise<ChangeResult>,
): Promise<string | { points: number; balance: number; replayed: boolean }> =>
  call.then(
    ({ entry, balance: left, replayed }) => ({ points: entry.points, balance: left, replayed }),
    (error: Error & { reason?: string }) => error.reason ?? error.message,
  );

export const done = (points: number, left: number) => ({ points, balance: left, replayed: false });
export const replayed = (points: number, left: number) => ({
  points,
  balance: left,
  replayed: true,
});

/** How transactions of the store in memory show to plain reads: see `delayedBy`. */
export const isolations = ["whole", "item by item"] as const;
export type Isolation = (typeof isolations)[number];

/** Of an order without a pattern, most of them shorter than a call. */
const delays = [0, 3, 1, 7, 2, 0, 12, 1, 5];

/** What holds the items of transactions in this isolation. */
export const holdOf = (isolation: Isolation) =>
  isolation === "whole" ? undefined : delayedBy(delays);

/** Makes worlds of one isolation. */
export const worldsOf =
  (isolation: Isolation): typeof createWorld =>
  (...options) => {
    const world = createWorld(...options);
    world.store.beforeItem = holdOf(isolation);
    return world;
  };

export function createWorld(lifetime = 12, random?: () => number) {
  const world = memoryDeps(random ? { random } : {});
  const { store, deps } = world;
  store.force(programRef(program), {
    id: program,
    zone: "Asia/Tokyo",
    lifetimes: [{ months: lifetime, from: 0 }],
    createTime: 0,
  });

  /** Starts `calls` while a commit on their key is under way, so that they fold into one batch. */
  async function folded<T>(from: Deps, calls: () => readonly Promise<T>[]): Promise<T[]> {
    const gate = createGate();
    const hold = async (request: Request) => {
      if (request.op !== "commit") return undefined;
      store.arriving = undefined;
      gate.reach();
      await gate.passed;
      return undefined;
    };
    store.arriving = hold;
    const first = grant(from, `fold-${Math.random()}`, 1);
    await gate.reached;
    const asked = calls();
    // Use cases ask for their program before they come to the engine.
    await new Promise((resolve) => setTimeout(resolve, 5));
    store.resetStats();
    gate.open();
    const answers = await Promise.all(asked);
    await first;
    return answers;
  }

  const stored = async (): Promise<Account | undefined> => (await deps.reader.get(account))?.value;

  return { ...world, folded, stored };
}

/** What a request asks for or writes, by kind of record: `account+entry+event`. */
export const kinds = ({ refs }: { readonly refs: readonly Ref[] }): string =>
  refs.map(({ kind }) => kind).join("+");

/** Writes as text, to be compared. */
export const textOf = (writes: readonly Write[]): string =>
  JSON.stringify(writes.map(({ ref, value, version }) => [nameOf(ref), value, version]));
