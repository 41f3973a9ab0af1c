/** The requests that the clients of a run have sent, and their answers. */

import type { Request, RequestOf } from "../../test/support/models/reactions-requests.ts";
import type { Outcome, Attempt as Tried } from "../../test/support/models/workload-operations.ts";

/** One call; its answer, if it has one, is what the checks compare. */
export interface Attempt<A = unknown> extends Tried<A> {
  /** When it was sent, by this machine's clock. */
  readonly time: number;
}

/** A change, and all calls that asked for it. */
export interface Sent<R, A = unknown> {
  readonly request: R;
  readonly attempts: readonly Attempt<A>[];
}

/**
 * How a change ended for its client: acknowledged by one call at least, refused by every call that
 * may have been made, or unknown.
 */
export type Ending = "acknowledged" | "refused" | "unknown";

export function endingOf({ attempts }: Changes): Ending {
  if (attempts.some(({ answer }) => answer !== undefined)) return "acknowledged";
  return attempts.length > 0 && !attempts.some(isOpen) ? "refused" : "unknown";
}

/** The calls of a change of any service. */
export interface Changes {
  readonly attempts: readonly Tried<unknown>[];
}

/** Whether a call may still have been made, or be made later by a server that stood still. */
export const isOpen = ({ error }: Tried<unknown>): boolean => error?.retryable === true;

/** The changes of one reservation, in the order in which its client sent them. */
export interface ReservationRecord {
  readonly id: string;
  readonly userId: string;
  /** With which it was created. */
  readonly points: number;
  readonly sent: readonly Sent<ReservationRequest, ReservationAnswer>[];
}

export type ReservationRequest =
  | { readonly op: "create" | "move"; readonly executeTime: number }
  | { readonly op: "points"; readonly points: number }
  | { readonly op: "cancel" };

export interface ReservationAnswer {
  readonly state: string;
  readonly points: number;
  readonly executeTime: number;
}

/** The changes of one bulk grant, in the order in which its client sent them. */
export interface BulkRecord {
  readonly id: string;
  readonly rows: readonly { readonly userId: string; readonly points: number }[];
  /** Undefined: as soon as it is approved. */
  readonly executeTime: number | undefined;
  readonly sent: readonly Sent<{ readonly op: BulkOp }>[];
}

export type BulkOp = "submit" | "approve" | "reject" | "cancel";

/** A request about reactions or notifications of an owner. */
export interface ReactionRecord<R extends Request = Request> extends Sent<R> {
  readonly ownerId: string;
}

/** A change of one program. */
export interface ProgramRecord {
  readonly id: string;
  readonly sent: readonly Sent<{ readonly op: "create" | "lengthen"; readonly months: number }>[];
}

export interface Record {
  readonly points: readonly Outcome[];
  readonly holds: readonly Outcome[];
  readonly reservations: readonly ReservationRecord[];
  readonly bulkGrants: readonly BulkRecord[];
  readonly reactions: readonly ReactionRecord<RequestOf<"react" | "unreact">>[];
  readonly events: readonly ReactionRecord<RequestOf<"notify" | "retract">>[];
  readonly reads: readonly ReactionRecord<RequestOf<"read">>[];
  readonly programs: readonly ProgramRecord[];
  /** Errors that no server should answer, and processes that ended by themselves. */
  readonly surprises: readonly string[];
}

/** The operations on points and holds, which have their entries in the same ledgers. */
export const onPoints = ({ points, holds }: Record): readonly Outcome[] => [...points, ...holds];

/** All changes of a record, by what they change. */
export function sentBy(record: Record): Readonly<{ [name: string]: readonly Changes[] }> {
  const { points, holds, reservations, bulkGrants, reactions, events, reads, programs } = record;
  return {
    points,
    holds,
    reservations: reservations.flatMap(({ sent }) => sent),
    "bulk grants": bulkGrants.flatMap(({ sent }) => sent),
    reactions,
    events,
    reads,
    programs: programs.flatMap(({ sent }) => sent),
  };
}
