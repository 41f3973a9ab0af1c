/** The use cases that mute people for one owner, and the question whether a person is muted. */

import { createHash } from "node:crypto";
import type { CallLimits } from "../../../platform/ports/call.ts";
import type { Transaction } from "../../../platform/ports/engine.ts";
import type { Page, PageRequest } from "../../../platform/ports/pages.ts";
import { DomainError } from "../../../platform/words/errors.ts";
import type { Deps } from "../../ports/deps.ts";
import { inboxRef, type MutedPerson, mutedHashRef, mutedPersonRef } from "../../ports/records.ts";
import { emptyInbox, type Inbox } from "../../rules/inbox.ts";
import { changePerson, hasHash, maxMutedPeople, personHashes } from "../../rules/muted-people.ts";
import { noActor } from "../../rules/target.ts";

/**
 * Whether an owner has muted a person. The inbox, which every reaction reads, has the hashes of
 * muted people; the record of the person is looked at only when its hash is among them. A request
 * that names it in `expectAbsent` reads it only when it exists.
 */
export function isPersonMuted(
  tx: Transaction,
  ownerId: string,
  { mutedPeople }: Inbox,
  userId: string,
): boolean {
  // Most owners have muted nobody: their likes need no hash.
  if (mutedPeople.count === 0 || userId === noActor) return false;
  if (!hasHash(mutedPeople, hashOf(userId))) return false;
  return tx.get(mutedPersonRef(ownerId, userId)) !== undefined;
}

/**
 * Mutes or unmutes a person for one owner. Returns whether that changed anything. Refusals:
 * LIMIT_EXCEEDED for more than `maxMutedPeople`, INVALID_REQUEST for a mute of oneself, which would
 * take the place of another person: nobody is notified of what they have done themselves.
 */
export async function setPersonMuted(
  deps: Pick<Deps, "engine">,
  input: CallLimits & {
    readonly ownerId: string;
    readonly userId: string;
    readonly muted: boolean;
  },
): Promise<boolean> {
  const { ownerId, userId, muted } = input;
  if (muted && userId === ownerId) {
    throw new DomainError("INVALID_REQUEST", "nobody mutes themselves", { field: "user_id" });
  }
  const refs = { inbox: inboxRef(ownerId), person: mutedPersonRef(ownerId, userId) };
  return deps.engine.transact({
    key: refs.inbox,
    readSet: [refs.inbox, refs.person],
    expectAbsent: [],
    call: input,
    decide(tx, { wall }) {
      const inbox = tx.get(refs.inbox) ?? emptyInbox;
      if ((tx.get(refs.person) !== undefined) === muted) return false;
      const { mutedPeople } = inbox;
      if (muted && mutedPeople.count >= maxMutedPeople) {
        throw new DomainError("LIMIT_EXCEEDED", `an owner mutes at most ${maxMutedPeople} people`, {
          limit: String(maxMutedPeople),
        });
      }
      const hash = hashOf(userId);
      const sameHash = mutedHashRef(ownerId, hash);
      const before = hasHash(mutedPeople, hash) ? (tx.get(sameHash)?.count ?? 1) : 0;
      const after = before + (muted ? 1 : -1);
      if (after > 1) tx.put(sameHash, { count: after });
      else if (before > 1) tx.delete(sameHash);
      const change = { hash, muted, isShared: after > 0 };
      tx.put(refs.inbox, { ...inbox, mutedPeople: changePerson(mutedPeople, change) });
      if (muted) tx.put(refs.person, { userId, time: wall });
      else tx.delete(refs.person);
      return true;
    },
  });
}

/** Lists the people whom an owner has muted, by id. Refusal: INVALID_REQUEST for a bad cursor. */
export const listMutedPeople = (
  { reader }: Pick<Deps, "reader">,
  ownerId: string,
  page: PageRequest,
): Promise<Page<MutedPerson>> => reader.mutedPeople(ownerId, page);

const hashOf = (userId: string): number =>
  createHash("sha256").update(userId).digest().readUInt16BE() % personHashes;
