/** Who makes a call. */
import type { Instant } from "./month.ts";

/** The calling service, and the person or workload for which it calls. */
export interface Caller {
  /** Names the service. All its instances share it, so that any of them may repeat a call. */
  readonly service: string;
  /** Names the person or workload; the service itself where there is none. */
  readonly subject: string;
}

/** A caller that acts for itself. */
export const asService = (service: string): Caller => ({ service, subject: service });

/** The caller of what Meguri does by itself, such as an expiry. */
export const noCaller: Caller = asService("");

/**
 * Whether two callers are one person or workload, which may call through several services. Case and
 * blanks around a name make no other person, because issuers and people spell names differently.
 */
export const isSameSubject = (a: Caller, b: Caller): boolean =>
  comparableSubject(a.subject) === comparableSubject(b.subject);

/** A name of a person without case and blanks around it. */
export const comparableSubject = (name: string): string =>
  name.normalize("NFKC").trim().toLowerCase();

/** Returns a caller as people read it: `shop`, or `alice via shop` for a call on her behalf. */
export const displayCaller = ({ service, subject }: Caller): string =>
  subject === service ? service : `${subject} via ${service}`;

/** A list of workflows shows so many names of a run; they are visible to all who may open it. */
const maxActors = 8;

/**
 * Adds the subject of a caller to the names of those who have changed something, without what
 * Meguri does by itself. The oldest leave a list that is full.
 */
export const withActor = (names: readonly string[], { subject }: Caller): readonly string[] =>
  subject === "" || names.includes(subject) ? names : [...names, subject].slice(-maxActors);

/** An approval; the reason may be empty. */
export interface Approval {
  readonly caller: Caller;
  readonly time: Instant;
  readonly reason: string;
}
