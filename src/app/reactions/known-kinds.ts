/** Runs transactions that need the records of every kind of reactions to one target. */
import type { Target, TargetName } from "../../domain/target.ts";
import type { Deps } from "../ports/deps.ts";
import type { TransactionRequest } from "../ports/engine.ts";
import { targetRef } from "../ports/records.ts";

/** Throws inside a decision when the target has a kind that the request has not declared. */
export type CheckKinds = (target: Target) => void;

/** Ends an attempt whose request has not declared all kinds. Does not leave this file. */
class UndeclaredKinds extends Error {
  readonly kinds: readonly string[];

  constructor(kinds: readonly string[]) {
    super("the target has kinds that the request has not declared");
    this.kinds = kinds;
  }
}

/**
 * Runs the transaction that `request` returns for the kinds of a target. A read set has to be known
 * before the decision, but the kinds are in the target, so they come from a plain read. The
 * decision gets the target and passes it to `checkKinds` before its first write. When a new kind
 * has come meanwhile, the attempt ends without a write and the next one declares the kinds found.
 * The engine ends the attempt at the request's deadline. An unknown target has no kinds.
 */
export async function withKinds<R>(
  { engine, reader }: Pick<Deps, "engine" | "reader">,
  target: TargetName,
  request: (kinds: readonly string[], checkKinds: CheckKinds) => TransactionRequest<R>,
): Promise<R> {
  const found = await reader.get(targetRef(target));
  let kinds: readonly string[] = found ? kindsOf(found.value) : [];
  for (;;) {
    const declared = new Set(kinds);
    const checkKinds = (current: Target) => {
      const all = kindsOf(current);
      if (!all.every((kind) => declared.has(kind))) throw new UndeclaredKinds(all);
    };
    try {
      return await engine.transact(request(kinds, checkKinds));
    } catch (error) {
      if (!(error instanceof UndeclaredKinds)) throw error;
      kinds = error.kinds;
    }
  }
}

const kindsOf = ({ counts }: Target): string[] => Object.keys(counts);
