/** What tokens and the callers' file say about a caller's permissions: their shape, checked. */
import { z } from "zod";
import type { Identity } from "../app/ports/identity.ts";

/** An empty prefix would limit nothing. */
const names = z.array(z.string().min(1));

/** What a caller may be limited to. */
export const limitNames = ["programs", "owners", "actors"] as const;
export type LimitName = (typeof limitNames)[number];

/** The limits of a caller, each a list that is absent where the limit does not apply. */
export const limitsSchema = {
  programs: names.optional(),
  owners: names.optional(),
  actors: names.optional(),
} satisfies Record<LimitName, unknown>;

interface Permissions {
  readonly scopes: readonly string[];
  readonly programs?: readonly string[] | undefined;
  readonly owners?: readonly string[] | undefined;
  readonly actors?: readonly string[] | undefined;
}

/** The first of the required limits that a caller does not have. */
export const missingLimit = (
  given: Omit<Permissions, "scopes">,
  required: readonly LimitName[],
): LimitName | undefined => required.find((name) => given[name] === undefined);

/** The permissions in the form that the interceptors use. */
export const toPermissions = (given: Permissions): Omit<Identity, "caller"> => ({
  scopes: new Set(given.scopes),
  ...(given.programs && { programIds: new Set(given.programs) }),
  ...(given.owners && { ownerPrefixes: given.owners }),
  ...(given.actors && { actorPrefixes: given.actors }),
});
