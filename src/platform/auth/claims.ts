/** Reads the identity in the claims of a verified token; its limits have to be real ones. */
import type { JWTPayload } from "jose";
import { z } from "zod";
import type { Identity } from "../ports/identity.ts";
import { skeletonOf } from "../words/display-text.ts";
import { DomainError } from "../words/errors.ts";
import { servicePattern, subjectPattern } from "./ids.ts";
import {
  type LimitName,
  limitNames,
  limitsSchema,
  missingLimit,
  toPermissions,
} from "./permissions.ts";

interface ClaimsOptions {
  /** The prefix of the names of the limits in a token, such as `meguri_`. */
  readonly claimPrefix: string;
  /** The limits that each token has to have. */
  readonly requiredLimits: readonly LimitName[];
}

const claimsSchema = z
  .object({
    sub: z.string().regex(subjectPattern),
    client_id: z.string().regex(servicePattern).optional(),
    azp: z.string().regex(servicePattern).optional(),
    scope: z.union([z.string(), z.array(z.string())]).default(""),
  })
  .refine(({ client_id, azp }) => (client_id ?? azp) !== undefined, { path: ["client_id"] });

const limitsOfToken = z.object(limitsSchema);

/** The error for a token, which has to say what is wrong without repeating the token. */
export const refuseToken = (text: string) => new DomainError("UNAUTHENTICATED", text);

/** Makes the function that turns claims into an identity. It throws UNAUTHENTICATED. */
export function createClaimsReader(options: ClaimsOptions): (claims: JWTPayload) => Identity {
  const { claimPrefix, requiredLimits } = options;
  const claimOf = (limit: LimitName) => claimPrefix + limit;
  const claimNames = new Set(limitNames.map(claimOf));
  const prefix = skeletonOf(claimPrefix);

  /**
   * Whether a name reads like that of a limit without being one, such as one in full-width letters:
   * such a limit would not limit.
   */
  const isMisspelled = (name: string): boolean => {
    if (claimNames.has(name)) return false;
    const skeleton = skeletonOf(name);
    return skeleton.includes("meguri") || skeleton.startsWith(prefix);
  };

  return (claims) => {
    const misspelled = Object.keys(claims).find(isMisspelled);
    if (misspelled !== undefined) {
      throw refuseToken(`the token has an unknown claim ${misspelled.slice(0, 100)}`);
    }
    const { sub, client_id, azp, scope } = parse(claimsSchema, claims, (name) => name);
    const given = limitNames.flatMap((limit) => {
      const value = claims[claimOf(limit)];
      return value === undefined ? [] : [[limit, value] as const];
    });
    const limits = parse(limitsOfToken, Object.fromEntries(given), (name) => claimPrefix + name);
    const missing = missingLimit(limits, requiredLimits);
    if (missing !== undefined) {
      throw refuseToken(`the token has no claim ${claimOf(missing)}, which this server requires`);
    }
    return {
      caller: { service: client_id ?? azp ?? "", subject: sub },
      ...toPermissions({
        scopes: typeof scope === "string" ? scope.split(" ") : scope,
        ...limits,
      }),
    };
  };
}

function parse<T>(schema: z.ZodType<T>, value: unknown, claimOf: (field: string) => string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [field] = parsed.error.issues[0]?.path ?? [];
  throw refuseToken(`the token's claim ${claimOf(String(field))} is missing or not valid`);
}
