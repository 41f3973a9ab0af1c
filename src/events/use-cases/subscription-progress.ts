/** Stores how far a subscription has come, so that no process moves it behind another's back. */

import type { Deps } from "../../platform/ports/deps.ts";
import { changeRecord } from "../../platform/work/change-record.ts";
import { type SubscriptionState, subscriptionRef } from "../ports/records.ts";

type ProgressDeps = Pick<Deps, "engine" | "reader">;

export interface Progress {
  /** Reads the state; undefined for a new subscription. */
  load(): Promise<SubscriptionState | undefined>;
  /**
   * Writes the state, unless it is stored already. Returns false when another process has written
   * since: it may deliver the same events, so this one has to begin again from what is stored.
   */
  save(state: SubscriptionState): Promise<boolean>;
}

export function createProgress({ engine, reader }: ProgressDeps, name: string): Progress {
  const ref = subscriptionRef(name);
  /** What may be stored: the last state that was, and those whose writing had no clear result. */
  let possible: readonly (SubscriptionState | undefined)[] = [undefined];
  return {
    async load() {
      const stored = (await reader.get(ref))?.value;
      possible = [stored];
      return stored;
    },
    async save(state) {
      const expected = possible;
      if (expected.length === 1 && isSame(expected[0], state)) return true;
      possible = [...expected, state];
      const { record } = await changeRecord({ engine }, { ref }, (before) =>
        expected.some((one) => isSame(one, before)) ? state : before,
      );
      if (!isSame(record, state)) return false;
      possible = [state];
      return true;
    },
  };
}

function isSame(one: SubscriptionState | undefined, other: SubscriptionState | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return (
    one.logId === other.logId &&
    one.number === other.number &&
    one.index === other.index &&
    one.time === other.time &&
    one.failingSince === other.failingSince &&
    one.failure === other.failure &&
    one.pausedSince === other.pausedSince
  );
}
