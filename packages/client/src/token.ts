/** Keeps the bearer token of a client, and gets a new one in time. */
import { Code, ConnectError } from "@connectrpc/connect";
import { checkHeaderValue } from "./headers.ts";
import type { MeguriOptions } from "./options.ts";

/** A token is replaced this long before it expires, but not before 80 % of its time. */
const aheadMs = 30_000;
const shareAhead = 0.2;

/** The header `authorization` of calls. */
export interface TokenSource {
  /** The header; a promise only when a token has to be fetched first. */
  header(): string | Promise<string>;
  /**
   * Drops the token of this header, which a server has not accepted. Returns false if there is no
   * other one.
   */
  reject(header: string): boolean;
}

/** Throws a TypeError for a token that no header carries. */
function headerOf(token: string): string {
  checkHeaderValue("token", token);
  return `Bearer ${token}`;
}

/**
 * Asks the function for a token when there is none, and shortly before a JWT expires. Calls that
 * wait for a token at the same time share one.
 */
export function createTokenSource(token: NonNullable<MeguriOptions["token"]>): TokenSource {
  if (typeof token === "string") {
    const header = headerOf(token);
    return { header: () => header, reject: () => false };
  }
  let current: { readonly header: string; readonly refreshAt: number } | undefined;
  let pending: Promise<string> | undefined;

  async function fetch(): Promise<string> {
    try {
      const text = await (token as () => string | Promise<string>)();
      current = { header: headerOf(text), refreshAt: refreshTimeOf(text) };
      return current.header;
    } catch (error) {
      const { rawMessage } = ConnectError.from(error);
      throw new ConnectError(
        `no token: ${rawMessage}`,
        Code.Unauthenticated,
        undefined,
        undefined,
        error,
      );
    } finally {
      pending = undefined;
    }
  }

  return {
    header() {
      if (current && Date.now() < current.refreshAt) return current.header;
      pending ??= fetch();
      return pending;
    },
    reject(header) {
      if (current?.header === header) current = undefined;
      return true;
    },
  };
}

/** When to replace a token, in Unix milliseconds; never for one that is no JWT with an expiry. */
function refreshTimeOf(token: string): number {
  const expiresAt = expiryOf(token);
  if (expiresAt === undefined) return Number.POSITIVE_INFINITY;
  return expiresAt - Math.min(aheadMs, shareAhead * Math.max(0, expiresAt - Date.now()));
}

function expiryOf(token: string): number | undefined {
  try {
    const claims: unknown = JSON.parse(
      Buffer.from(token.split(".")[1] ?? "", "base64url").toString(),
    );
    const { exp } = claims as { exp?: unknown };
    return typeof exp === "number" ? exp * 1_000 : undefined;
  } catch {
    return undefined;
  }
}
