/** Leaves out the ends of notifications that have only moved to another item of the store. */
import pLimit from "p-limit";
import { closedGroupRef, inboxRef, readGroupRef } from "../../feed/ports/records.ts";
import type { Deps } from "../ports/deps.ts";
import type { ChangeEvent, NotificationData } from "../rules/change-event.ts";

/** How many notifications are looked for at a time. */
const concurrency = 20;

/**
 * The events without those that say that a notification is gone while the store has it: a group
 * that was read is in the history then, and one that takes in nobody new is a closed one. The
 * changes of that item are events of their own.
 */
export async function withoutMoved(
  deps: Pick<Deps, "engine">,
  events: readonly ChangeEvent[],
): Promise<readonly ChangeEvent[]> {
  const limit = pLimit(concurrency);
  const isKept = await Promise.all(
    events.map(
      ({ data }) =>
        data.kind !== "notification" ||
        !data.isGone ||
        limit(async () => !(await isStored(deps, data))),
    ),
  );
  return events.filter((_, i) => isKept[i]);
}

/** Whether another item has the group. Read at one moment: a transaction may be being applied. */
const isStored = ({ engine }: Pick<Deps, "engine">, { ownerId, group }: NotificationData) => {
  const { target, kind, generation } = group;
  const refs = [
    readGroupRef(ownerId, target, kind, generation),
    closedGroupRef(ownerId, target, kind, generation),
  ];
  return engine.transact<boolean>({
    key: inboxRef(ownerId),
    readSet: refs,
    expectAbsent: [],
    call: undefined,
    decide: (tx) => refs.some((ref) => tx.get<"readGroup" | "unreadGroup">(ref) !== undefined),
  });
};
