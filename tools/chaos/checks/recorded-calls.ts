/** Calls, answers and ledger entries of a recorded run. */
import { DomainError, type Reason } from "../../../src/domain/errors.ts";
import type { Origin } from "../../../src/domain/ledger.ts";
import type { Answer } from "../../../test/support/models/workload-operations.ts";
import type { Attempt } from "../record.ts";
import type { Entry } from "./state.ts";

/** A call that was answered, from `time` on. */
export const answered = <A>(time: number, answer: A): Attempt<A> => ({
  start: time,
  end: time + 5,
  time,
  answer,
});

export const refused = (time: number, reason: Reason, metadata = {}): Attempt<never> => ({
  start: time,
  end: time + 5,
  time,
  error: new DomainError(reason, reason, metadata),
});

/** A call without an answer. */
export const unanswered = (time: number): Attempt<never> => refused(time, "STORE_UNAVAILABLE");

/** An entry of a ledger. */
export const entryOf = (number: number, origin: Origin, eventId: string, rest: object) =>
  ({
    ...{ number, event: { origin, eventId }, createTime: 0, changes: [], reason: "" },
    ...rest,
  }) as unknown as Entry;

/** The answer of the call that has made an entry. */
export const answerOf = ({ createTime: _, ...entry }: Entry): Answer => ({
  entry,
  availablePoints: entry.availablePoints,
  replayed: false,
});
