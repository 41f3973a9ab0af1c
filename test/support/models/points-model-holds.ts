/** The requests about holds of a random history, as a worker and a server carry them out. */

import { expect } from "vitest";
import { pointsOf, type Release } from "../../../src/holds/rules/hold.ts";
import {
  capturePoints,
  type HoldResult,
  holdPoints,
  releaseHold,
} from "../../../src/holds/use-cases/commands.ts";
import { timeOutHold } from "../../../src/holds/use-cases/time-out.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import type { Caller } from "../../../src/platform/words/caller.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import type { AccountName } from "../../../src/points/ports/points.ts";
import type { LedgerEntry } from "../../../src/points/rules/ledger.ts";
import { pause } from "../stores/item-by-item.ts";
import type { Operation, Request, ShownHold } from "./points-oracle.ts";

type HoldOperation = Operation & { readonly op: "hold" | "capture" | "release" | "timeout" };

export type HoldRequest = Request & HoldOperation;

export const isOfHold = (request: Request): request is HoldRequest =>
  ["hold", "capture", "release", "timeout"].includes(request.op);

/** The answer to a request: that of a timeout which changes nothing is the state of its hold. */
export async function sendForHold(
  deps: Deps,
  account: AccountName,
  caller: Caller,
  request: HoldRequest,
  validateOnly: boolean,
): Promise<Written | { readonly refused: string }> {
  const { id, reason, cause } = request;
  const why = { reason, ...(cause && { cause }), caller, validateOnly };
  const common = { ...account, ...why, deadline: undefined };
  switch (request.op) {
    case "hold": {
      const { points, until, partial: allowPartial, policy: expiredPointsPolicy } = request;
      const what = { points, until, allowPartial, expiredPointsPolicy };
      return written(() => holdPoints(deps, { ...common, holdId: id, ...what }));
    }
    case "capture": {
      const { hold: holdId, points, more: moreFollow } = request;
      const input = { ...common, holdId, eventId: id, points, moreFollow };
      return written(() => capturePoints(deps, input));
    }
    case "release":
      return written(() => releaseHold(deps, { ...common, holdId: request.hold }));
    case "timeout": {
      const { hold, entry } = await timeOutHold(deps, { ...account, holdId: request.hold });
      if (!entry) return { refused: hold.state };
      const { availablePoints: balance } = hold.release as Release;
      return { entry, balance, replayed: false };
    }
  }
}

/** The entry that a request has written, now or before, and the balance after it. */
interface Written {
  readonly entry: LedgerEntry;
  readonly balance: number;
  readonly replayed: boolean;
}

/** Repeats a call while the first one is being committed, item by item. */
async function written(call: () => Promise<HoldResult>): Promise<Written> {
  for (;;) {
    try {
      const { entry, availablePoints: balance, replayed } = await call();
      return { entry, balance, replayed };
    } catch (error) {
      if (!(error instanceof DomainError) || error.reason !== "CONTENDED") throw error;
      await pause(1);
    }
  }
}

/** The holds of an account as its readers see them, by their ids. */
export async function holdsOf({ reader }: Pick<Deps, "reader">, account: AccountName) {
  const page = { size: 1_000, cursor: undefined };
  const { items } = await reader.holdsOfUser(account, page);
  const shown = items.map(async (hold): Promise<ShownHold> => {
    const captures = await reader.capturesOf(hold);
    expect(captures.length).toBe(hold.captureCount);
    return {
      id: hold.holdId,
      state: hold.state,
      points: pointsOf(hold),
      captured: hold.capturedPoints,
      refunded: captures.reduce((sum, { reversedPoints }) => sum + reversedPoints, 0),
      released: hold.release?.points ?? 0,
    };
  });
  return (await Promise.all(shown)).sort((a, b) => (a.id < b.id ? -1 : 1));
}
