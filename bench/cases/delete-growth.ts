/** Measures whether the cost of deleting a target grows with the history of its owner. */
import { readGroupRef } from "../../src/app/ports/records.ts";
import { react } from "../../src/app/reactions/commands.ts";
import {
  endPurge,
  purgeReactions,
  readKindsToPurge,
} from "../../src/app/reactions/purge-target.ts";
import { deleteTarget } from "../../src/app/reactions/targets.ts";
import { compose } from "../../src/compose.ts";
import { defaultKind } from "../../src/domain/kinds.ts";
import type { ReadGroup } from "../../src/domain/unread-group.ts";
import { createLogger } from "../../src/log.ts";
import { noWorkflows } from "../../test/support/servers/no-workflows.ts";
import type { Benchmark } from "../benchmark.ts";
import { compareUnits } from "../support/compare.ts";
import { commentOf, displayName, type Liked, newPerson, register } from "../support/likes.ts";
import { type MeteredStack, withMeteredStack } from "../support/metered.ts";
import { type Seed, seed } from "../support/seed.ts";

/** The lines of history on the one side, and on the other side. */
const few = 10;
const many = 20_000;

/** The reactions to each deleted target: unread ones of two kinds. */
const kinds = [defaultKind, "love"];
const likers = 20;

/** An owner with a target and a history, of which every second line is about the target. */
interface Side extends Liked {
  readonly lines: number;
}

/**
 * The capacity units of a delete and of all steps of its purge, for an owner with many lines of
 * history over an owner with few.
 */
export const deleteGrowth: Benchmark = {
  names: ["delete.growth"],
  run: (scale) =>
    withMeteredStack(async (stack) => {
      const config = { ...stack.config, dynamoEndpoint: stack.proxy.endpoint };
      const metered = compose(config, noWorkflows, createLogger("bench", "silent"));
      try {
        const through = { ...stack, deps: metered.deps };
        const sides = [
          { ...commentOf(1), lines: few },
          { ...commentOf(2), lines: scale.pick(many, 100) },
        ] as const;
        const value = await compareUnits<Side>(sides, async (side) => {
          await seed(stack, historyOf(side));
          const units = await unitsOf(through, side);
          scale.note(`${side.lines} lines of history: ${units} units for a delete and its purge`);
          return units;
        });
        return [
          {
            name: "delete.growth",
            value,
            unit: "ratio of capacity units",
            target: "<= 1.1",
            baseline: `the same with ${few} lines of history`,
            counted: true,
          },
        ];
      } finally {
        await metered.close();
      }
    }),
};

function* historyOf({ target, ownerId, lines }: Side): Generator<Seed> {
  const now = Date.now();
  const actor = { userId: newPerson(), displayName, createTime: now };
  for (let version = 1; version <= lines; version++) {
    const members = [{ ...actor, version }];
    const group: ReadGroup = {
      kind: defaultKind,
      target: version % 2 === 0 ? target : { ...target, id: `${target.id}-${version}` },
      generation: version,
      memberCount: 1,
      actorCount: 1,
      firstMembers: members,
      latestMembers: members,
      readTime: now,
      expireTime: now + 90 * 86_400_000,
    };
    const ref = readGroupRef(ownerId, group.target, group.kind, version);
    yield { ref, value: group, version: 1 };
  }
}

/** Registers and likes the target, then meters its delete and the activities of its workflow. */
async function unitsOf(stack: MeteredStack, side: Side): Promise<number> {
  const { deps } = stack;
  const { target } = side;
  // The meter needs the items that the delete replaces.
  await stack.meter(async () => {
    await register(stack, side);
    for (const kind of kinds) {
      for (let i = 0; i < likers; i++) {
        await react(deps, { target, kind, userId: newPerson(), displayName });
      }
    }
  });
  const { usage } = await stack.meter(async () => {
    await deleteTarget(deps, { target });
    for (const kind of await readKindsToPurge(deps, target)) {
      while (await purgeReactions(deps, target, kind));
    }
    await endPurge(deps, target);
  });
  return usage.reads + usage.writes;
}
