/** The use cases that mute people for one owner, and the question whether a person is muted. */

import { createHash } from "node:crypto";
import type { CallLimits } from "../../../platform/ports/call.ts";
import type { Transaction } from "../../../platform/ports/engine.ts";
import type { Page, PageRequest } from "../../../platform/ports/pages.ts";
import { DomainError } from "../../../platform/words/errors.ts";
import type { Deps } from "../../ports/deps.ts";
import { inboxRef, type MutedPerson, mutedPersonRef } from "../../ports/records.ts";
import { emptyInbox, type Inbox, maxMutedPeople, personHashLength } from "../../rules/inbox.ts";
import { noActor } from "../../rules/target.ts";

/**
 * Whether an owner has muted a person. The inbox, which every reaction reads, has only short hashes
 * of muted people; the record of the person is read when the hash is among them. The request has to
 * name this record in `expectAbsent`, because a record that no request names is never read.
 */
export function isPersonMuted(
  tx: Transaction,
  ownerId: string,
  { mutedPeople }: Inbox,
  userId: string,
): boolean {
  // Most owners have muted nobody: their likes need no hash.
  if (mutedPeople.length === 0 || userId === noActor) return false;
  if (!mutedPeople.includes(hashOf(userId))) return false;
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
      if (muted && inbox.mutedPeople.length >= maxMutedPeople) {
        throw new DomainError("LIMIT_EXCEEDED", `an owner mutes at most ${maxMutedPeople} people`, {
          limit: String(maxMutedPeople),
        });
      }
      const hash = hashOf(userId);
      const mutedPeople = muted
        ? [...inbox.mutedPeople, hash]
        : inbox.mutedPeople.toSpliced(inbox.mutedPeople.indexOf(hash), 1);
      tx.put(refs.inbox, { ...inbox, mutedPeople });
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

const hashOf = (userId: string): string =>
  createHash("sha256").update(userId).digest("base64url").slice(0, personHashLength);
