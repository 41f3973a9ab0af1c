/** Runs transactions that need the records of every kind of reactions to one target. */

import type { TargetName } from "../../../platform/words/target-name.ts";
import type { Deps } from "../../ports/deps.ts";
import { targetRef } from "../../ports/records.ts";
import type { Target } from "../../rules/target.ts";

/** Returned by a decision when the target has kinds that the request has not declared. */
export class UndeclaredKinds {
  readonly kinds: readonly string[];

  constructor(kinds: readonly string[]) {
    this.kinds = kinds;
  }
}

/** What a decision has to return before its first write, unless the request has all kinds. */
type CheckKinds = (target: Target) => UndeclaredKinds | undefined;

/**
 * Runs a transaction that declares the kinds of a target. A read set has to be known
 * before the decision, but the kinds are in the target, so they come from a plain read. When a new
 * kind has come meanwhile, the attempt ends without a write and the next one declares the kinds
 * found. The engine ends the attempt at the request's deadline. An unknown target has no kinds.
 */
export async function withKinds<R>(
  { reader }: Pick<Deps, "reader">,
  target: TargetName,
  transact: (kinds: readonly string[], checkKinds: CheckKinds) => Promise<R | UndeclaredKinds>,
): Promise<R> {
  const found = await reader.get(targetRef(target));
  let kinds: readonly string[] = found ? kindsOf(found.value) : [];
  for (;;) {
    const declared = new Set(kinds);
    const result = await transact(kinds, (current) => {
      const all = kindsOf(current);
      return all.every((kind) => declared.has(kind)) ? undefined : new UndeclaredKinds(all);
    });
    if (!(result instanceof UndeclaredKinds)) return result;
    kinds = result.kinds;
  }
}

/** Sorted, so that a transaction changes them in one order: the maps of a store have none. */
const kindsOf = ({ counts }: Target): string[] => Object.keys(counts).sort();
