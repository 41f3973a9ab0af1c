/** The lookup of the people who have reacted to a target last, when the next ones are not known. */

import type { Lookup, Transaction } from "../../../platform/ports/engine.ts";
import type { Ref } from "../../../platform/ports/records.ts";
import type { ReactionReader } from "../../ports/reactions.ts";
import { targetRef } from "../../ports/records.ts";
import { keptActors, type LatestActor, needsActors } from "../../rules/latest-actors.ts";
import { countOf, type Reaction, type Target } from "../../rules/target.ts";

type LatestReader = Pick<ReactionReader, "latestReactions">;

/**
 * Looks up the latest people of a kind if too few of them are known without the person of
 * `reaction`, who leaves. The lookup is for one version of the target, whose transactions are all
 * applied, so that the query finds exactly its reactions.
 */
export function latestWithout(
  tx: Transaction,
  reader: LatestReader,
  target: Target,
  { kind, userId }: Reaction,
  now: number,
): readonly LatestActor[] | undefined {
  const leaving = { userId, count: countOf(target, kind), now };
  if (!needsActors(target.latest, kind, leaving)) return undefined;
  return tx.lookup(lookUpLatest(reader, target, kind, tx.recordVersion(targetRef(target))));
}

function lookUpLatest(
  reader: LatestReader,
  { type, id }: Target,
  kind: string,
  version: number,
): Lookup<readonly LatestActor[]> {
  const source: Ref<"target"> = targetRef({ type, id });
  return {
    name: `${source.id} ${kind} latest at ${version}`,
    source,
    holds: () => true,
    async read() {
      // One more than is kept, because the person who leaves is among them.
      const found = await reader.latestReactions({ type, id }, kind, keptActors + 1);
      const result = found.map((each) => ({ userId: each.userId, version: each.version }));
      return { result, unchanged: [] };
    },
  };
}
