/** Verifies bearer tokens, whose claims are those of RFC 9068, and remembers the verified ones. */
import { errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from "jose";
import { LRUCache } from "lru-cache";
import { z } from "zod";
import type { Authenticator, Identity } from "../app/ports/identity.ts";
import { DomainError } from "../domain/errors.ts";
import type { Logger } from "../log.ts";
import { servicePattern, subjectPattern } from "./ids.ts";
import { fileKeys, type Keys, remoteKeys } from "./jwt-keys.ts";
import { limitsSchema, toPermissions } from "./permissions.ts";

interface JwtOptions {
  /** Where the public keys are. */
  readonly keys: { readonly jwksUrl: string } | { readonly keyFile: string };
  readonly issuer: string;
  readonly audience: string;
  readonly log: Logger;
  /** The least time between two fetches for unknown keys: 30 s unless a test has less. */
  readonly cooldownMs?: number;
}

const algorithms = ["RS256", "PS256", "ES256", "EdDSA"];

/** How far the issuer's clock may be from this one. */
const toleranceSeconds = 5;

/** An access token has `at+jwt` (RFC 9068), which not every issuer writes. */
const types: readonly unknown[] = [undefined, "at+jwt", "application/at+jwt", "jwt"];

const defaultCooldownMs = 30_000;

interface Verified {
  readonly identity: Identity;
  /** A token is remembered only while these keys are the present ones. */
  readonly keys: Keys;
  readonly expiresAtMs: number;
}

/**
 * Authenticates by `authorization: Bearer …`. Throws UNAUTHENTICATED with what is wrong with the
 * token, but without the token; KEYS_UNAVAILABLE while there are no keys to verify it by.
 */
export function createJwtAuthenticator(options: JwtOptions): Authenticator {
  const { log, issuer, audience, cooldownMs = defaultCooldownMs } = options;
  const source =
    "jwksUrl" in options.keys
      ? remoteKeys(options.keys.jwksUrl, cooldownMs, log)
      : fileKeys(options.keys.keyFile, log);
  const expected = {
    issuer,
    audience,
    algorithms,
    clockTolerance: toleranceSeconds,
    requiredClaims: ["exp", "sub"],
  };
  // Limited by characters, because a token may be as large as the headers of a call.
  const verified = new LRUCache<string, Verified>({
    max: 10_000,
    maxSize: 16 * 2 ** 20,
    sizeCalculation: (_, token) => token.length,
  });

  async function verify(token: string, keys: Keys): Promise<Identity> {
    const { identity, expiresAtMs } = await verifyToken(token, keys, expected);
    verified.set(token, { identity, keys, expiresAtMs });
    return identity;
  }

  return {
    authenticate({ header }) {
      const token = bearerOf(header("authorization"));
      const keys = source.current();
      if (keys instanceof Promise) return keys.then((first) => verify(token, first));
      const known = verified.get(token);
      if (known?.keys === keys && Date.now() < known.expiresAtMs) return known.identity;
      return verify(token, keys);
    },
    close: source.close,
  };
}

const refuse = (text: string) => new DomainError("UNAUTHENTICATED", text);

function bearerOf(authorization: string | null): string {
  if (authorization === null) throw refuse("the call has no token (authorization: Bearer …)");
  const [, token] = /^bearer +([\w.-]+)$/i.exec(authorization) ?? [];
  if (token === undefined) throw refuse("the header authorization has no bearer token");
  return token;
}

async function verifyToken(token: string, keys: Keys, expected: JWTVerifyOptions) {
  const { payload, protectedHeader } = await jwtVerify(token, keys.get, expected).catch((error) => {
    throw toRefusal(error);
  });
  if (!types.includes(protectedHeader.typ?.toLowerCase())) {
    throw refuse("the token is not an access token (typ)");
  }
  const expiresAtMs = ((payload.exp ?? 0) + toleranceSeconds) * 1_000;
  return { identity: toIdentity(payload), expiresAtMs };
}

/** The refusal for an error of jose. Errors of the keys' source pass. */
function toRefusal(error: unknown): DomainError {
  if (error instanceof DomainError) return error;
  if (error instanceof errors.JWTExpired) return refuse("the token has expired");
  if (error instanceof errors.JWTClaimValidationFailed) return refuse(claimText(error));
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return refuse("the token's signature does not match its key");
  }
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return refuse(`the token's algorithm is not one of ${algorithms.join(", ")}`);
  }
  if (error instanceof errors.JWKSNoMatchingKey) {
    return refuse("the token's key is not one of the issuer's");
  }
  if (error instanceof errors.JWKSMultipleMatchingKeys) {
    return refuse("the token does not say which key has signed it (kid)");
  }
  return refuse("the token is malformed");
}

function claimText({ claim, reason }: errors.JWTClaimValidationFailed): string {
  if (reason === "missing") return `the token has no claim ${claim}`;
  if (claim === "nbf" && reason === "check_failed") return "the token is not valid yet";
  if (claim === "iss") return "the token is of another issuer (iss)";
  if (claim === "aud") return "the token is for another audience (aud)";
  return `the token's claim ${claim} is not valid`;
}

const claimsSchema = z
  .object({
    sub: z.string().regex(subjectPattern),
    client_id: z.string().regex(servicePattern).optional(),
    azp: z.string().regex(servicePattern).optional(),
    scope: z.union([z.string(), z.array(z.string())]).default(""),
    meguri_programs: limitsSchema.programs,
    meguri_owners: limitsSchema.owners,
    meguri_actors: limitsSchema.actors,
  })
  .refine(({ client_id, azp }) => (client_id ?? azp) !== undefined, { path: ["client_id"] });

/** The identity that verified claims describe. Throws UNAUTHENTICATED if a claim is not valid. */
function toIdentity(payload: JWTPayload): Identity {
  // A limit whose name is mistyped would not limit.
  const unknown = Object.keys(payload).find((name) => /^meguri_/.test(name) && !isClaim(name));
  if (unknown !== undefined) throw refuse(`the token has an unknown claim ${unknown}`);
  const parsed = claimsSchema.safeParse(payload);
  if (!parsed.success) {
    const [claim] = parsed.error.issues[0]?.path ?? [];
    throw refuse(`the token's claim ${String(claim)} is missing or not valid`);
  }
  const { sub, client_id, azp, scope, ...limits } = parsed.data;
  return {
    caller: { service: client_id ?? azp ?? "", subject: sub },
    ...toPermissions({
      scopes: typeof scope === "string" ? scope.split(" ") : scope,
      programs: limits.meguri_programs,
      owners: limits.meguri_owners,
      actors: limits.meguri_actors,
    }),
  };
}

const isClaim = (name: string): boolean => name in claimsSchema.shape;
