/** Signs the tokens of the example. In a company, its issuer of tokens does this. */
import { createPrivateKey } from "node:crypto";
import { type JWTPayload, SignJWT } from "jose";

/** How long a token is valid, in seconds. It cannot be revoked, so this is short. */
export const tokenLifetime = 600;

const issuer = "https://feed.example";
const audience = "meguri";

/** Signs with an Ed25519 private key, as PEM. */
export interface Signer {
  /**
   * A token for a person's browser: it reads and changes this person's notifications, and nothing
   * else. A limit is a prefix, so no person's id may begin with the id of another one.
   */
  tokenOf(personId: string): Promise<string>;
  /** A token for the service itself, which registers posts and notifies anybody. */
  serviceToken(): Promise<string>;
}

export function createSigner(privateKey: string): Signer {
  const key = createPrivateKey(privateKey);
  const sign = (claims: JWTPayload) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: "EdDSA", typ: "at+jwt" })
      .setIssuer(issuer)
      .setAudience(audience)
      .setIssuedAt()
      .setExpirationTime(`${tokenLifetime}s`)
      .sign(key);
  return {
    tokenOf: (personId) =>
      sign({
        client_id: "feed-page",
        sub: personId,
        scope: "notifications.read notifications.write",
        meguri_owners: [personId],
        meguri_programs: [],
        meguri_actors: [],
      }),
    serviceToken: () =>
      sign({ client_id: "feed", sub: "feed", scope: "targets.write notifications.notify" }),
  };
}
