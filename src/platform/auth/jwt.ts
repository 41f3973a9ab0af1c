/** Verifies bearer tokens, whose claims are those of RFC 9068, and remembers the verified ones. */
import { errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from "jose";
import { LRUCache } from "lru-cache";
import type { Logger } from "../observe/log.ts";
import type { Authenticator, Identity } from "../ports/identity.ts";
import { DomainError } from "../words/errors.ts";
import { createClaimsReader, refuseToken } from "./claims.ts";
import { fileKeys, type Keys, remoteKeys } from "./jwt-keys.ts";
import type { LimitName } from "./permissions.ts";

interface JwtOptions {
  /** The URL or the file of the public keys. */
  readonly keys: { readonly jwksUrl: string } | { readonly keyFile: string };
  readonly issuer: string;
  readonly audience: string;
  /** The prefix of the claims that contain limits. */
  readonly claimPrefix: string;
  /** The limits that each token has to have. */
  readonly requiredLimits: readonly LimitName[];
  readonly log: Logger;
  /** The least time between two fetches for unknown keys: 30 s unless a test has less. */
  readonly cooldownMs?: number;
}

/** How tokens may be signed. Ed25519 is the name of RFC 9864 for what most libraries call EdDSA. */
export const algorithms = ["RS256", "PS256", "ES256", "Ed25519", "EdDSA"];

/** How far the issuer's clock may be from this one. */
const toleranceSeconds = 5;

/**
 * A token cannot be revoked, so one that is valid for long is refused: by its own claims, and by
 * this clock where it does not say when it was issued.
 */
const maxLifeSeconds = 24 * 3_600;

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
  const identityOf = createClaimsReader(options);
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
    const claims = await verifyToken(token, keys, expected);
    const identity = identityOf(claims);
    const expiresAtMs = ((claims.exp ?? 0) + toleranceSeconds) * 1_000;
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
    ageMs: source.ageMs,
    close: source.close,
  };
}

function bearerOf(authorization: string | null): string {
  if (authorization === null) throw refuseToken("the call has no token (authorization: Bearer …)");
  const [, token] = /^bearer +([\w.-]+)$/i.exec(authorization) ?? [];
  if (token === undefined) throw refuseToken("the header authorization has no bearer token");
  return token;
}

/** The claims of a token that is signed, of this issuer, for this audience, and in its time. */
async function verifyToken(
  token: string,
  keys: Keys,
  expected: JWTVerifyOptions,
): Promise<JWTPayload> {
  const { payload, protectedHeader } = await jwtVerify(token, keys.get, expected).catch((error) => {
    throw toRefusal(error);
  });
  // The header is the issuer's JSON: a type need not be a string.
  const type: unknown = protectedHeader.typ;
  if (!types.includes(typeof type === "string" ? type.toLowerCase() : type)) {
    throw refuseToken("the token is not an access token (typ)");
  }
  const { exp = 0, iat } = payload;
  const now = Date.now() / 1_000;
  if (exp - Math.min(iat ?? now, now) > maxLifeSeconds + toleranceSeconds) {
    throw refuseToken("the token is valid for more than 24 hours (exp)");
  }
  return payload;
}

/** The refusal for an error of jose. Errors of the keys' source pass. */
function toRefusal(error: unknown): DomainError {
  if (error instanceof DomainError) return error;
  if (error instanceof errors.JWTExpired) return refuseToken("the token has expired");
  if (error instanceof errors.JWTClaimValidationFailed) return refuseToken(claimText(error));
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return refuseToken("the token's signature does not match its key");
  }
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return refuseToken(`the token's algorithm is not one of ${algorithms.join(", ")}`);
  }
  if (error instanceof errors.JWKSNoMatchingKey) {
    return refuseToken("the token's key is not one of the issuer's");
  }
  if (error instanceof errors.JWKSMultipleMatchingKeys) {
    return refuseToken("the token does not say which key has signed it (kid)");
  }
  return refuseToken("the token is malformed");
}

function claimText({ claim, reason }: errors.JWTClaimValidationFailed): string {
  if (reason === "missing") return `the token has no claim ${claim}`;
  if (claim === "nbf" && reason === "check_failed") return "the token is not valid yet";
  if (claim === "iss") return "the token is of another issuer (iss)";
  if (claim === "aud") return "the token is for another audience (aud)";
  return `the token's claim ${claim} is not valid`;
}
