/** The public keys that verify tokens: those of the issuer's JWKS URL, or of a file. */
import { createPrivateKey, createPublicKey } from "node:crypto";
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from "jose";
import type { Logger } from "../observe/log.ts";
import { DomainError } from "../words/errors.ts";
import type { Milliseconds } from "../words/units.ts";
import { watchFiles } from "./watch-files.ts";

/** The keys of one moment. When a key is added or removed, there is another object. */
export interface Keys {
  /** Finds the key of a token. */
  readonly get: JWTVerifyGetKey;
}

interface KeySource {
  /** The present keys. A promise only until the first ones are there. */
  current(): Keys | Promise<Keys>;
  /** How long ago the keys were read or fetched, or since when there are none. */
  ageMs(): Milliseconds;
  close(): void;
}

/** How often the keys of a URL are fetched, so that a removed one stops to work. */
const refreshMs = 60_000;

/** How long after a failure the keys are fetched again, as long as there are none. */
const pauseMs = 1_000;

const fetchTimeoutMs = 3_000;

/**
 * The keys of a JWKS URL. A token of an unknown key has them fetched at once, if the last time was
 * `cooldownMs` ago. While they cannot be fetched, the last ones stay.
 */
export function remoteKeys(url: string, cooldownMs: number, log: Logger): KeySource {
  const set = createRemoteJWKSet(new URL(url), {
    cacheMaxAge: Number.POSITIVE_INFINITY,
    cooldownDuration: cooldownMs,
    timeoutDuration: fetchTimeoutMs,
  });
  const get: JWTVerifyGetKey = async (header, token) => {
    try {
      return await set(header, token);
    } catch (error) {
      throw isOfToken(error) ? error : unavailable();
    }
  };
  let keys: Keys | undefined;
  let fetched = "";
  let fetchedAt = performance.now();
  let fetching: Promise<Keys> | undefined;

  async function fetchKeys(): Promise<Keys> {
    try {
      await set.reload();
    } catch (error) {
      log.warn({ url, err: error }, "the keys that verify tokens cannot be fetched");
      if (keys === undefined) throw unavailable();
      return keys;
    }
    const found = JSON.stringify(set.jwks());
    if (keys === undefined || found !== fetched) keys = { get };
    fetched = found;
    fetchedAt = performance.now();
    return keys;
  }

  function first(): Promise<Keys> {
    if (fetching === undefined) {
      fetching = fetchKeys();
      const forget = () => {
        fetching = undefined;
      };
      fetching.catch(() => setTimeout(forget, pauseMs).unref());
    }
    return fetching;
  }

  const timer = setInterval(() => void fetchKeys().catch(() => {}), refreshMs).unref();
  return {
    current: () => keys ?? first(),
    ageMs: () => performance.now() - fetchedAt,
    close: () => clearInterval(timer),
  };
}

const unavailable = () =>
  new DomainError("KEYS_UNAVAILABLE", "the keys that verify tokens cannot be fetched right now");

/** Whether it is the token that is wrong, rather than the keys. */
const isOfToken = (error: unknown): boolean =>
  error instanceof errors.JWKSNoMatchingKey ||
  error instanceof errors.JWKSMultipleMatchingKeys ||
  error instanceof errors.JOSENotSupported;

/** The keys of a file: a JWKS, or one public key as PEM. Throws if it has something else. */
export function fileKeys(file: string, log: Logger): KeySource {
  return watchFiles([file], ([content = ""]) => parseKeys(content), log);
}

function parseKeys(content: string): Keys {
  if (content.trimStart().startsWith("{")) {
    const set = JSON.parse(content) as JSONWebKeySet;
    const get = createLocalJWKSet(set);
    if (set.keys.some((key) => "d" in key || "k" in key)) throw new Error(noSecrets);
    return { get };
  }
  if (isPrivate(content)) throw new Error(noSecrets);
  const key = createPublicKey(content);
  return { get: async () => key };
}

const noSecrets = "the file has a private or secret key; servers need public ones only";

/** A private key would also be accepted as the public key that follows from it. */
function isPrivate(pem: string): boolean {
  try {
    createPrivateKey(pem);
    return true;
  } catch {
    return false;
  }
}
