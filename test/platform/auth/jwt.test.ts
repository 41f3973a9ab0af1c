/** Tests the verification of tokens: claims, keys that change, and what is remembered. */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SignJWT, UnsecuredJWT } from "jose";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { createJwtAuthenticator } from "../../../src/platform/auth/jwt.ts";
import { createLogger } from "../../../src/platform/observe/log.ts";
import type { Authenticator, Identity } from "../../../src/platform/ports/identity.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import {
  audience,
  claimsOf,
  createSigningKey,
  type Issuer,
  issuerName,
  type SigningKey,
  signToken,
  startIssuer,
} from "../../support/servers/issuer.ts";

type Claims = Readonly<Record<string, unknown>>;

type Limits = Partial<
  Pick<Parameters<typeof createJwtAuthenticator>[0], "claimPrefix" | "requiredLimits">
>;

const log = createLogger("test", "silent");
let key: SigningKey;
let issuer: Issuer;
const opened: Authenticator[] = [];

beforeAll(async () => {
  key = await createSigningKey("first");
  issuer = await startIssuer([key]);
});

afterEach(() => {
  vi.useRealTimers();
  for (const one of opened.splice(0)) one.close();
  issuer.publish([key]);
});

afterAll(() => issuer.stop());

function authenticator(
  keys: { jwksUrl: string } | { keyFile: string } = { jwksUrl: issuer.jwksUrl },
  cooldownMs = 0,
  limits: Limits = {},
): Authenticator {
  const one = createJwtAuthenticator({
    keys,
    issuer: issuerName,
    audience,
    claimPrefix: "meguri_",
    requiredLimits: [],
    log,
    cooldownMs,
    ...limits,
  });
  opened.push(one);
  return one;
}

/** Presents a token, as a call does. */
const present = ({ authenticate }: Authenticator, token: string | null, scheme = "Bearer ") =>
  authenticate({
    header: (name) => (name === "authorization" && token !== null ? scheme + token : null),
    socket: undefined,
  });

const verified = async (claims: Claims, limits?: Limits): Promise<Identity> =>
  present(authenticator(undefined, 0, limits), await signToken(key, claimsOf(claims)));

const refused = (text: string) => ({ reason: "UNAUTHENTICATED", message: text });

const seconds = () => Math.floor(Date.now() / 1_000);

describe("the identity in the claims", () => {
  test("has the service, the subject, the scopes, and no limits", async () => {
    expect(await verified({ scope: "points.grant points.read" })).toEqual({
      caller: { service: "shop", subject: "alice" },
      scopes: new Set(["points.grant", "points.read"]),
    });
  });

  test("has the service of azp if there is no client_id, and scopes of a list", async () => {
    const claims = { client_id: undefined, azp: "cafe", scope: ["points.read"] };
    expect(await verified(claims)).toEqual({
      caller: { service: "cafe", subject: "alice" },
      scopes: new Set(["points.read"]),
    });
  });

  test("is read after a scheme in lower case and several spaces, too", async () => {
    const token = await signToken(key, claimsOf());
    await expect(present(authenticator(), token, "bearer  ")).resolves.toBeDefined();
  });

  test("has no scope if the token names none", async () => {
    const { scopes } = await verified({ scope: undefined });
    expect([...scopes].filter((scope) => scope !== "")).toEqual([]);
  });

  test("has the limits, an empty one permitting nothing", async () => {
    const lists = { meguri_programs: ["cafe"], meguri_owners: ["o-"], meguri_actors: [] };
    expect(await verified({ ...lists, meguri_holds: "own" })).toMatchObject({
      holds: "own",
      programIds: new Set(["cafe"]),
      ownerPrefixes: ["o-"],
      actorPrefixes: [],
    });
  });

  test.each<[string, Claims]>([
    ["client_id", { client_id: undefined }],
    ["client_id", { client_id: "" }],
    ["client_id", { client_id: "shop#1" }],
    ["client_id", { client_id: "x".repeat(65) }],
    ["azp", { azp: 1 }],
    ["sub", { sub: "x".repeat(129) }],
    ["sub", { sub: "with space" }],
    ["scope", { scope: 1 }],
    ["scope", { scope: [1] }],
    ["meguri_programs", { meguri_programs: "cafe" }],
    ["meguri_programs", { meguri_programs: null }],
    ["meguri_owners", { meguri_owners: [""] }],
    ["meguri_actors", { meguri_actors: [1] }],
    ["meguri_holds", { meguri_holds: "all" }],
    ["meguri_holds", { meguri_holds: ["own"] }],
    ["meguri_hold", { meguri_hold: "own" }],
    ["meguri_programs", { meguri_programs: ["\uff43afe"] }],
    ["meguri_programs", { meguri_programs: ["cafe\uff11"] }],
    ["meguri_programs", { meguri_programs: ["cafe", "Cafe"] }],
    ["meguri_programs", { meguri_programs: ["caf\u00e9"] }],
    ["meguri_programs", { meguri_programs: ["cafe "] }],
    ["meguri_owners", { meguri_owners: ["o\uff0d"] }],
    ["meguri_owners", { meguri_owners: ["o-\u200b"] }],
    ["meguri_actors", { meguri_actors: ["\uff10"] }],
    ["\uff4deguri_programs", { "\uff4deguri_programs": ["cafe"] }],
    ["meguri\uff3fprograms", { "meguri\uff3fprograms": ["cafe"] }],
    ["meg\u200buri_programs", { "meg\u200buri_programs": ["cafe"] }],
    ["meguri_program", { meguri_program: ["cafe"] }],
    ["Meguri_programs", { Meguri_programs: ["cafe"] }],
    ["meguri-programs", { "meguri-programs": ["cafe"] }],
    ["meguriPrograms", { meguriPrograms: ["cafe"] }],
    ["meguri", { meguri: { programs: ["cafe"] } }],
    ["https://a.test/meguri_programs", { "https://a.test/meguri_programs": ["cafe"] }],
  ])("is refused with a wrong %s: %j", async (claim, claims) => {
    await expect(verified(claims)).rejects.toMatchObject({
      reason: "UNAUTHENTICATED",
      message: expect.stringContaining(claim),
    });
  });
});

describe("limits under the prefix that an issuer forces", () => {
  const claimPrefix = "https://shop.test/limit/";

  test("are read", async () => {
    const claims = { [`${claimPrefix}programs`]: ["cafe"], [`${claimPrefix}owners`]: ["o-"] };
    expect(await verified(claims, { claimPrefix })).toMatchObject({
      programIds: new Set(["cafe"]),
      ownerPrefixes: ["o-"],
    });
  });

  test.each<[string, Claims]>([
    [`${claimPrefix}program`, { [`${claimPrefix}program`]: ["cafe"] }],
    ["https://shop.test\uff0flimit/programs", { "https://shop.test\uff0flimit/programs": ["a"] }],
    ["https://shop.test/LIMIT/programs", { "https://shop.test/LIMIT/programs": ["cafe"] }],
    [`${claimPrefix}actors`, { [`${claimPrefix}actors`]: [""] }],
    ["meguri_programs", { meguri_programs: ["cafe"] }],
  ])("are refused as %s: %j", async (claim, claims) => {
    await expect(verified(claims, { claimPrefix })).rejects.toMatchObject({
      reason: "UNAUTHENTICATED",
      message: expect.stringContaining(claim),
    });
  });
});

test("a token without a limit that the server requires is refused", async () => {
  const requiredLimits = ["programs", "owners"] as const;
  const limits = { meguri_programs: ["cafe"], meguri_owners: [] };
  await expect(verified(limits, { requiredLimits })).resolves.toMatchObject({ ownerPrefixes: [] });
  await expect(verified({ meguri_programs: ["cafe"] }, { requiredLimits })).rejects.toMatchObject(
    refused("the token has no claim meguri_owners, which this server requires"),
  );
});

describe("a token is refused", () => {
  const tooLong = "the token is valid for more than 24 hours (exp)";

  test.each<[string, Claims, string]>([
    ["expired", { exp: seconds() - 60 }, "the token has expired"],
    ["without an end", { exp: undefined }, "the token has no claim exp"],
    ["that ends in more than 24 hours", { exp: seconds() + 90_000, iat: undefined }, tooLong],
    ["issued more than 24 hours before its end", { iat: seconds() - 90_000 }, tooLong],
    ["issued in the far future", { iat: seconds() + 9e6, exp: seconds() + 9e6 + 600 }, tooLong],
    ["not yet valid", { nbf: seconds() + 60 }, "the token is not valid yet"],
    ["of another issuer", { iss: "https://evil.test" }, "the token is of another issuer (iss)"],
    ["for another audience", { aud: "web" }, "the token is for another audience (aud)"],
    ["without a subject", { sub: undefined }, "the token has no claim sub"],
  ])("%s", async (_, claims, text) => {
    await expect(verified(claims)).rejects.toMatchObject(refused(text));
  });

  test("valid for 24 hours and the tolerance it is not, for a second more it is", async () => {
    const iat = seconds() - 3_600;
    const exp = iat + 24 * 3_600 + 5;
    await expect(verified({ iat, exp })).resolves.toBeDefined();
    await expect(verified({ iat, exp: exp + 1 })).rejects.toMatchObject(refused(tooLong));
  });

  test("within the tolerance it is not", async () => {
    await expect(verified({ exp: seconds() - 2, nbf: seconds() + 2 })).resolves.toBeDefined();
  });

  test("of type logout+jwt or 5, but not of type JWT", async () => {
    const one = authenticator();
    const sign = (type: string) => signToken(key, claimsOf(), type);
    const wrongType = refused("the token is not an access token (typ)");
    await expect(present(one, await sign("logout+jwt"))).rejects.toMatchObject(wrongType);
    const numbered = new SignJWT(claimsOf()).setProtectedHeader({
      alg: key.alg,
      kid: key.kid,
      typ: 5 as unknown as string,
    });
    await expect(present(one, await numbered.sign(key.privateKey))).rejects.toMatchObject(
      wrongType,
    );
    for (const type of ["JWT", "application/at+jwt"]) {
      await expect(present(one, await sign(type))).resolves.toBeDefined();
    }
  });

  test("unsigned, signed with the public key as a secret, or by another key", async () => {
    const one = authenticator();
    const unsigned = new UnsecuredJWT(claimsOf()).encode();
    const algorithm = refused(
      "the token's algorithm is not one of RS256, PS256, ES256, Ed25519, EdDSA",
    );
    await expect(present(one, unsigned)).rejects.toMatchObject(algorithm);
    const hmac = await new SignJWT(claimsOf())
      .setProtectedHeader({ alg: "HS256", kid: "first" })
      .sign(Buffer.from(key.pem));
    await expect(present(one, hmac)).rejects.toMatchObject(algorithm);
    const forged = await signToken(await createSigningKey("first"), claimsOf());
    await expect(present(one, forged)).rejects.toMatchObject(
      refused("the token's signature does not match its key"),
    );
  });

  test.each([
    ["absent", null, "Bearer ", "the call has no token (authorization: Bearer …)"],
    ["of another scheme", "YTpi", "Basic ", "the header authorization has no bearer token"],
    ["twice", "a.b.c, Bearer a.b.c", "Bearer ", "the header authorization has no bearer token"],
    ["empty", "", "Bearer ", "the header authorization has no bearer token"],
    ["no JWT", "abc", "Bearer ", "the token is malformed"],
    ["encrypted", "a.b.c.d.e", "Bearer ", "the token is malformed"],
    ["of broken parts", "a.b.c", "Bearer ", "the token is malformed"],
  ])("that is %s, without being repeated", async (_, token, scheme, text) => {
    const call = async () => present(authenticator(), token, scheme);
    await expect(call()).rejects.toMatchObject(refused(text));
  });
});

describe("the keys of a URL", () => {
  test.each(["RS256", "PS256", "ES256", "Ed25519", "EdDSA"])("may be of %s", async (alg) => {
    const other = await createSigningKey("other", alg);
    issuer.publish([key, other]);
    await expect(
      present(authenticator(), await signToken(other, claimsOf())),
    ).resolves.toBeDefined();
  });

  test("have to be named by a token that several of them may have signed", async () => {
    issuer.publish([key, await createSigningKey("other")]);
    const unnamed = new SignJWT(claimsOf()).setProtectedHeader({ alg: key.alg });
    await expect(
      present(authenticator(), await unnamed.sign(key.privateKey)),
    ).rejects.toMatchObject(refused("the token does not say which key has signed it (kid)"));
  });

  test("are fetched when a token names an unknown one, so that keys may rotate", async () => {
    const one = authenticator();
    await present(one, await signToken(key, claimsOf()));
    const next = await createSigningKey("next");
    const token = await signToken(next, claimsOf());
    await expect(present(one, token)).rejects.toMatchObject(
      refused("the token's key is not one of the issuer's"),
    );
    issuer.publish([key, next]);
    expect(await present(one, token)).toMatchObject({ caller: { service: "shop" } });
  });

  test("have an age, which grows while the issuer does not answer", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "performance"] });
    const { ageMs } = authenticator();
    issuer.publish(undefined);
    const before = issuer.fetches();
    vi.advanceTimersByTime(60_000);
    await eventually(async () => expect(issuer.fetches()).toBeGreaterThan(before));
    expect(ageMs()).toBeGreaterThanOrEqual(60_000);
    issuer.publish([key]);
    // More than one fetch, because one that still waits for its refusal is shared with the next.
    await eventually(async () => {
      const age = ageMs();
      vi.advanceTimersByTime(60_000);
      expect(age).toBeLessThan(60_000);
    });
  });

  test("are fetched once for many tokens of unknown keys", async () => {
    const one = authenticator({ jwksUrl: issuer.jwksUrl }, 30_000);
    await present(one, await signToken(key, claimsOf()));
    const before = issuer.fetches();
    const token = await signToken(await createSigningKey("unknown"), claimsOf());
    for (let i = 0; i < 5; i += 1) await expect(present(one, token)).rejects.toThrow("key");
    expect(issuer.fetches()).toBe(before);
  });

  test("are missing while the issuer has never answered, which a caller may retry", async () => {
    issuer.publish(undefined);
    const one = authenticator();
    const token = await signToken(key, claimsOf());
    await expect(present(one, token)).rejects.toMatchObject({ reason: "KEYS_UNAVAILABLE" });
    issuer.publish([key]);
    await eventually(async () => expect(await present(one, token)).toBeDefined());
  });

  test("are not fetched anew for every call while the issuer does not answer", async () => {
    const token = await signToken(key, claimsOf());
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    issuer.publish(undefined);
    const one = authenticator();
    const before = issuer.fetches();
    for (let i = 0; i < 3; i += 1) {
      await expect(present(one, token)).rejects.toMatchObject({ reason: "KEYS_UNAVAILABLE" });
    }
    expect(issuer.fetches()).toBe(before + 1);
  });

  test("stay while the issuer does not answer any more", async () => {
    const one = authenticator();
    await present(one, await signToken(key, claimsOf()));
    issuer.publish(undefined);
    // It may be the next key of the issuer, so that the caller may try again.
    const unknown = await signToken(await createSigningKey("unknown"), claimsOf());
    await expect(present(one, unknown)).rejects.toMatchObject({ reason: "KEYS_UNAVAILABLE" });
    await expect(
      present(one, await signToken(key, claimsOf({ sub: "bob" }))),
    ).resolves.toBeDefined();
  });
});

describe("the keys of a file", () => {
  let folder: string;
  let keyFile: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "meguri-keys-"));
    keyFile = join(folder, "keys");
  });

  afterAll(() => rm(folder, { recursive: true }));

  const jwks = (...keys: SigningKey[]) => JSON.stringify({ keys: keys.map(({ jwk }) => jwk) });

  test("may be one public key as PEM", async () => {
    await writeFile(keyFile, key.pem);
    await expect(
      present(authenticator({ keyFile }), await signToken(key, claimsOf())),
    ).resolves.toBeDefined();
  });

  test("change with the file, and remembered tokens of a removed key are forgotten", async () => {
    await writeFile(keyFile, jwks(key));
    const one = authenticator({ keyFile });
    const token = await signToken(key, claimsOf());
    await present(one, token);
    expect(present(one, token)).not.toBeInstanceOf(Promise);
    await writeFile(keyFile, "{ half of a file");
    const next = await createSigningKey("next");
    await writeFile(keyFile, jwks(next));
    const newToken = await signToken(next, claimsOf());
    await eventually(async () => expect(await present(one, newToken)).toBeDefined());
    await expect(present(one, token)).rejects.toMatchObject(
      refused("the token's key is not one of the issuer's"),
    );
  });

  test("may be a JWKS, after blanks too", async () => {
    await writeFile(keyFile, `\n ${jwks(key)}\n`);
    const one = authenticator({ keyFile });
    await expect(present(one, await signToken(key, claimsOf()))).resolves.toBeDefined();
  });

  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const jwkOf = (one: KeyObject) => one.export({ format: "jwk" });

  test.each([
    ["a private key", privateKey.export({ type: "pkcs8", format: "pem" }).toString()],
    ["a private JWK", JSON.stringify({ keys: [jwkOf(privateKey)] })],
    ["one beside a public JWK", JSON.stringify({ keys: [jwkOf(publicKey), jwkOf(privateKey)] })],
    ["a secret key", JSON.stringify({ keys: [{ kty: "oct", k: "c2VjcmV0" }] })],
    ["no keys", "{}"],
    ["other text", "keys"],
  ])("are refused at start if the file has %s", async (_, content) => {
    await writeFile(keyFile, content);
    expect(() => authenticator({ keyFile })).toThrow();
  });
});

describe("a verified token", () => {
  test("is remembered, so that the next call waits for nothing", async () => {
    const one = authenticator();
    const token = await signToken(key, claimsOf());
    const identity = await present(one, token);
    expect(present(one, token)).toBe(identity);
  });

  test("is forgotten when it expires", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const one = authenticator();
    const token = await signToken(key, claimsOf());
    await present(one, token);
    vi.setSystemTime(Date.now() + 604_000);
    expect(present(one, token)).toMatchObject({ caller: { subject: "alice" } });
    vi.setSystemTime(Date.now() + 1_000);
    await expect(present(one, token)).rejects.toMatchObject(refused("the token has expired"));
  });

  test("is forgotten within a minute after the issuer has removed its key", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const one = authenticator();
    const token = await signToken(key, claimsOf());
    await present(one, token);
    issuer.publish([await createSigningKey("next")]);
    vi.advanceTimersByTime(60_000);
    await eventually(async () => {
      await expect(async () => present(one, token)).rejects.toMatchObject(
        refused("the token's key is not one of the issuer's"),
      );
    });
  });
});
