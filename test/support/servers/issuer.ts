/** An issuer of tokens for tests: a real server of its public keys, which a test may change. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  exportJWK,
  exportSPKI,
  type GenerateKeyPairResult,
  generateKeyPair,
  type JWK,
  type JWTPayload,
  SignJWT,
} from "jose";

export const issuerName = "https://issuer.test";
export const audience = "meguri";

/** A key pair that may sign tokens. */
export interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: GenerateKeyPairResult["privateKey"];
  /** The public key, as the issuer publishes it. */
  readonly jwk: JWK;
  /** The public key as PEM. */
  readonly pem: string;
}

export interface Issuer {
  readonly jwksUrl: string;
  /** How many times the keys were fetched. */
  fetches(): number;
  /** Publishes these keys from now on; undefined answers 503. */
  publish(keys: readonly SigningKey[] | undefined): void;
  stop(): Promise<void>;
}

/** The variables of a server that takes tokens of an issuer. */
export const jwtVariables = ({ jwksUrl }: Pick<Issuer, "jwksUrl">) => ({
  MEGURI_AUTH: "jwt",
  MEGURI_JWKS_URL: jwksUrl,
  MEGURI_JWT_ISSUER: issuerName,
  MEGURI_JWT_AUDIENCE: audience,
});

export async function createSigningKey(kid: string, alg = "ES256"): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg);
  const jwk = { ...(await exportJWK(publicKey)), kid, alg };
  return { kid, alg, privateKey, jwk, pem: await exportSPKI(publicKey) };
}

/** Starts an issuer with these keys on a free port. */
export async function startIssuer(first: readonly SigningKey[]): Promise<Issuer> {
  let keys: readonly SigningKey[] | undefined = first;
  let fetches = 0;
  const server = createServer((_, response) => {
    fetches += 1;
    if (keys === undefined) response.writeHead(503).end();
    else response.end(JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }));
  });
  server.listen({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  return {
    jwksUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`,
    fetches: () => fetches,
    publish(published) {
      keys = published;
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** The claims of a token that permits nothing. It is valid for ten minutes. */
export function claimsOf(changes: Readonly<Record<string, unknown>> = {}): JWTPayload {
  const now = Math.floor(Date.now() / 1_000);
  const claims = {
    iss: issuerName,
    aud: audience,
    sub: "alice",
    client_id: "shop",
    iat: now,
    exp: now + 600,
  };
  return { ...claims, ...changes };
}

/** Signs a token with these claims. */
export const signToken = (
  { kid, alg, privateKey }: SigningKey,
  claims: JWTPayload,
  typ = "at+jwt",
) => new SignJWT(claims).setProtectedHeader({ alg, kid, typ }).sign(privateKey);
