/** The use cases of reactions on the store in memory as the system of a history. */
import fc from "fast-check";
import {
  endPurge,
  purgeEvents,
  purgeReactions,
  readKindsToPurge,
} from "../../../src/feed/use-cases/reactions/purge-target.ts";
import { listUserReactions } from "../../../src/feed/use-cases/reactions/queries.ts";
import type { Deps, Reader } from "../../../src/hub/deps.ts";
import { itemSize } from "../../../src/platform/dynamodb/sdk/item-size.ts";
import type { Write } from "../../../src/platform/engine/item-store.ts";
import type { Kind, Records } from "../../../src/platform/ports/records.ts";
import { toItem } from "../../../src/store/codecs.ts";
import { allItems } from "../fixtures/pages.ts";
import { pause } from "../stores/item-by-item.ts";
import { type Fault, memoryDeps } from "../stores/memory-store.ts";
import { keptMs, play, type System, type Turns, turnsOf } from "./reactions-model.ts";
import type { TargetName } from "./reactions-requests.ts";
import { ending, history } from "./reactions-templates.ts";
import { answersTo, answerTo, show } from "./reactions-use-cases.ts";
import { inVirtualTime } from "./virtual-time.ts";

/**
 * Two processes with the use cases on the store in memory. With `delays` transactions are applied
 * item by item, each kind of record after so many ms; without them at one moment.
 */
export function openMemory(
  now: number,
  { turn, race }: Turns,
  delays: Partial<Record<Kind, number>> | undefined,
): System {
  const { deps, store, clock, process: another } = memoryDeps({ time: now, random: () => 0 });
  const processes = [deps, another()].map((each) => ({
    ...each,
    historyMs: keptMs,
    reader: inTurns(each.reader, turn),
  }));
  let plan: Fault[] = [];
  store.arriving = async ({ op, writes }) => {
    checkSizes(writes);
    await turn();
    return op === "commit" ? plan.shift() : undefined;
  };
  store.answering = turn;
  store.latencyMs = 1;
  if (delays) {
    store.beforeItem = async (_, { kind }) => {
      await pause(delays[kind] ?? 0);
      await turn();
    };
  }
  return {
    visible: (shown) => shown,
    send: (ownerId, request, which) => answerTo(processes[which] as Deps, ownerId, request),
    sendToAll: (ownerIds, request, which) => answersTo(processes[which] as Deps, ownerIds, request),
    show: (ownerId, selection) => show(deps, ownerId, selection),
    async reactionsOf(userId) {
      const found = await allItems((page) => listUserReactions(deps, userId, [], page));
      return found.map(({ target: { type, id }, kind }) => `${type}/${id} ${kind}`);
    },
    purge: (_, target) => purge(deps, target),
    wait(ms) {
      clock.time += ms;
      return ms;
    },
    faults(faults) {
      plan = [...faults];
    },
    race,
  };
}

/** In ms: mostly shorter than a call. */
const delay = fc.oneof({ weight: 4, arbitrary: fc.nat(4) }, { weight: 1, arbitrary: fc.nat(40) });

/** Histories on the store in memory, in both isolations. */
export const histories = fc.asyncProperty(
  history(40, true),
  fc.scheduler(),
  fc.option(fc.record({ target: delay, inbox: delay, group: delay, reaction: delay }), {
    nil: undefined,
  }),
  // The last one, so that known seeds play the histories that they have played before it.
  ending,
  (steps, scheduler, delays, last) =>
    inVirtualTime(() => {
      const now = Date.UTC(2026, 0, 15);
      const system = openMemory(now, turnsOf(scheduler), delays);
      return play([...steps, ...last], { system, now, prefix: "" });
    }),
);

/** A reader whose reads take part in the scheduler's order, as the requests of the engine do. */
const inTurns = (reader: Reader, turn: () => Promise<void>): Reader => ({
  ...reader,
  async get(ref) {
    await turn();
    return reader.get(ref);
  },
  async unreadGroups(ownerId, newestFirst, page) {
    await turn();
    return reader.unreadGroups(ownerId, newestFirst, page);
  },
});

/** Throws when an item that is written is not smaller than 1 KB. */
function checkSizes(writes: readonly Write[]): void {
  for (const { ref, op, value, next } of writes) {
    if (op !== "put") continue;
    const bytes = itemSize(toItem(ref, value as Records[Kind], next));
    if (bytes >= 1_024) throw new Error(`${ref.kind} ${ref.id} has ${bytes} bytes`);
  }
}

/** All steps of a purge. */
export async function purge(deps: Deps, target: TargetName): Promise<void> {
  const kinds = await readKindsToPurge(deps, target);
  for (const kind of kinds) while (await purgeReactions(deps, target, kind));
  while (await purgeEvents(deps, target));
  await endPurge(deps, target);
}
