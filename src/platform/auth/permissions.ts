/** The schema of a caller's permissions in tokens and in the callers' file. */
import { z } from "zod";
import type { Identity } from "../ports/identity.ts";
import { servicePattern } from "./ids.ts";

/**
 * The form of the names that a limit is compared with, which are ASCII and never normalized. In
 * another form, such as full-width letters, a limit would permit nothing although it reads like one
 * that does, so that it is refused. An empty prefix would limit nothing.
 */
const programs = z.array(z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/));
const prefixes = z.array(z.string().regex(servicePattern));

/** Whole types of events, or their beginnings up to a dot. */
const eventTypes = z.array(z.string().regex(/^[a-z][a-z_]{0,31}\.(?:[a-z][a-z_]{0,31})?$/));

/** The names of a caller's limits. */
export const limitNames = ["programs", "owners", "actors", "holds", "event_types"] as const;
export type LimitName = (typeof limitNames)[number];

/** The limits of a caller, each absent where it does not apply. */
export const limitsSchema = {
  programs: programs.optional(),
  owners: prefixes.optional(),
  actors: prefixes.optional(),
  holds: z.literal("own").optional(),
  event_types: eventTypes.optional(),
} satisfies Record<LimitName, unknown>;

interface Permissions {
  readonly scopes: readonly string[];
  readonly programs?: readonly string[] | undefined;
  readonly owners?: readonly string[] | undefined;
  readonly actors?: readonly string[] | undefined;
  readonly holds?: "own" | undefined;
  readonly event_types?: readonly string[] | undefined;
}

/** The first of the required limits that a caller does not have. */
export const missingLimit = (
  given: Omit<Permissions, "scopes">,
  required: readonly LimitName[],
): LimitName | undefined => required.find((name) => given[name] === undefined);

/** The permissions in the form that the interceptors use. */
export const toPermissions = (given: Permissions): Omit<Identity, "caller"> => ({
  scopes: new Set(given.scopes),
  programIds: given.programs && new Set(given.programs),
  ownerPrefixes: given.owners,
  actorPrefixes: given.actors,
  holds: given.holds,
  eventTypes: given.event_types,
});
