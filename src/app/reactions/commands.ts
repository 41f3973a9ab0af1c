import { emptyInbox, type Inbox } from "../../domain/notification.ts";
import {
  countOf,
  type ReactionScene,
  react as reactTo,
  standing,
  type TargetName,
  unreact as withdraw,
} from "../../domain/reaction.ts";
import {
  type Deps,
  groupRef,
  inboxRef,
  type Now,
  reactionRef,
  targetRef,
  type View,
} from "../ports/deps.ts";

/** Names one person's reaction of one kind to one target, and how long the caller waits. */
export interface ReactionInput {
  readonly target: TargetName;
  readonly kind: string;
  readonly user: string;
  readonly deadline?: number | undefined;
}

export interface ReactionResult {
  /** Whether the call changed anything. */
  readonly changed: boolean;
  /** How many people react with this kind now. */
  readonly count: number;
}

/**
 * Sets a reaction: row, counts, unread group and inbox in one transaction. One that stands stays as
 * it is. Refusals: TARGET_NOT_FOUND, TARGET_DELETED, LIMIT_EXCEEDED at the seventeenth kind.
 */
export function react(
  deps: Deps,
  input: ReactionInput & { readonly name: string },
): Promise<ReactionResult> {
  const { kind, user, name } = input;
  return change(deps, input, "absent", (scene, { wall }) =>
    scene.row ? undefined : reactTo(scene, kind, { user, name }, wall),
  );
}

/** Takes a reaction back. Where there is none, nothing happens. Refusals: as above but the last. */
export function unreact(deps: Deps, input: ReactionInput): Promise<ReactionResult> {
  const { target, kind } = input;
  return change(deps, input, "reads", (scene, _, view) =>
    scene.row
      ? withdraw(scene, scene.row, (range) => view.members({ target, kind, ...range }))
      : undefined,
  );
}

/**
 * Changes a reaction and all that hangs on it, unless `decide` leaves it. Whether the row is likely
 * to be there says how it is looked at: read first, or taken as absent until proven otherwise.
 */
async function change(
  deps: Deps,
  { target, kind, user, deadline }: ReactionInput,
  row: "reads" | "absent",
  decide: (scene: ReactionScene, now: Now, view: View) => ReactionScene | undefined,
): Promise<ReactionResult> {
  const owner = await deps.owners.of(target);
  const refs = {
    target: targetRef(target),
    inbox: inboxRef(owner),
    group: groupRef(owner, target, kind),
    row: reactionRef(target, kind, user),
  };
  const shared = [refs.target, refs.inbox, refs.group];
  const { inbox, ...result } = await deps.engine.run({
    key: refs.inbox,
    reads: row === "reads" ? [...shared, refs.row] : shared,
    absent: row === "absent" ? [refs.row] : [],
    deadline,
    decide(view, now): ReactionResult & { inbox?: Inbox } {
      const before = {
        target: standing(view.get(refs.target)),
        inbox: view.get(refs.inbox) ?? emptyInbox,
        group: view.get(refs.group),
        row: view.get(refs.row),
      };
      const after = decide(before, now, view);
      if (!after) return { changed: false, count: countOf(before.target, kind) };
      view.put(refs.target, after.target);
      view.put(refs.inbox, after.inbox);
      if (after.row) view.put(refs.row, after.row);
      else view.delete(refs.row);
      if (!after.group && before.group) view.delete(refs.group);
      else if (after.group && after.group !== before.group) view.put(refs.group, after.group);
      return { changed: true, count: countOf(after.target, kind), inbox: after.inbox };
    },
  });
  if (inbox) deps.watches.saw(owner, inbox);
  return result;
}
