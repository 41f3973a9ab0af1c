/** Who calls, what the caller is permitted to do, and how a server finds out. */
import type { Socket } from "node:net";
import type { Caller } from "../words/caller.ts";
import type { Milliseconds } from "../words/units.ts";

/** A verified caller. A limit that is absent does not apply. */
export interface Identity {
  readonly caller: Caller;
  /** The scopes that the caller has, as methods name them. */
  readonly scopes: ReadonlySet<string> | "all";
  /** The programs that the caller may name. */
  readonly programIds?: ReadonlySet<string> | undefined;
  /** The ids of owners that the caller may name begin with one of these. */
  readonly ownerPrefixes?: readonly string[] | undefined;
  /** The ids of the people who react, or of whose events are reported, begin with one of these. */
  readonly actorPrefixes?: readonly string[] | undefined;
  /** The holds that the caller may end, and refund: those that its own service has made. */
  readonly holds?: "own" | undefined;
  /** The types of events that the caller may read: whole ones, or beginnings up to a dot. */
  readonly eventTypes?: readonly string[] | undefined;
}

/** The header and the connection by which a caller identifies itself. */
export interface Credentials {
  /** Returns a header of the call, by its name in lower case. */
  header(name: string): string | null;
  /** The connection of the call: a TLSSocket where TLS is on. */
  readonly socket: Socket | undefined;
}

/** Identifies the caller. Throws UNAUTHENTICATED. */
export type Authenticate = (credentials: Credentials) => Identity | Promise<Identity>;

/** An `Authenticate` that holds resources, such as watched files. */
export interface Authenticator {
  readonly authenticate: Authenticate;
  /** The age of the keys or the file that callers are verified by. */
  ageMs(): Milliseconds;
  close(): void;
}
