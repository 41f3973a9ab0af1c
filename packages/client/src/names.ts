/** Resolves the names in the addresses of servers, and keeps the addresses current. */
import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Address } from "./connection.ts";

/** How often names are resolved again, and the least time between two times. */
const refreshMs = 30_000;
const leastRefreshMs = 1_000;

/** Returns all addresses of a name. Throws if it has none. */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

interface Names {
  /** Undefined once there are addresses; until then, rejects with UNAVAILABLE if none is found. */
  resolving(): Promise<void> | undefined;
  /** Resolves the names again, because a server does not answer. */
  refreshSoon(): void;
  close(): void;
}

/** Calls `onAddresses` with all addresses: at once if no URL has a name, and after each change. */
export function createNames(
  urls: readonly string[],
  resolve: Resolve,
  onAddresses: (addresses: readonly Address[]) => void,
): Names {
  const found = new Map<string, readonly Address[]>();
  let refreshing: Promise<void> | undefined;
  let refreshedAt = Number.NEGATIVE_INFINITY;

  const publish = () => onAddresses(urls.flatMap((url) => found.get(url) ?? []));

  /** A name that does not resolve any more keeps its last addresses. */
  async function refresh(): Promise<void> {
    refreshedAt = performance.now();
    let cause: unknown;
    const lookups = urls.filter(hasName).map(async (url) => {
      try {
        found.set(url, addressesOf(url, await resolve(hostOf(url))));
      } catch (error) {
        cause = error;
      }
    });
    await Promise.all(lookups);
    publish();
    if (found.size > 0) return;
    const { rawMessage } = ConnectError.from(cause);
    throw new ConnectError(rawMessage, Code.Unavailable, undefined, undefined, cause);
  }

  function refreshNow(): Promise<void> {
    refreshing ??= refresh().finally(() => {
      refreshing = undefined;
    });
    return refreshing;
  }

  for (const url of urls) if (!hasName(url)) found.set(url, [{ url }]);
  const hasNames = urls.some(hasName);
  if (!hasNames) publish();
  const refreshQuietly = () => void refreshNow().catch(() => {});
  const timer = hasNames ? setInterval(refreshQuietly, refreshMs).unref() : undefined;
  let isFirst = hasNames;
  return {
    resolving() {
      if (!isFirst) return undefined;
      return refreshNow().then(() => {
        isFirst = false;
      });
    },
    refreshSoon() {
      if (hasNames && performance.now() >= refreshedAt + leastRefreshMs) refreshQuietly();
    },
    close: () => clearInterval(timer),
  };
}

const hostOf = (url: string): string => new URL(url).hostname.replace(/^\[|\]$/g, "");

const hasName = (url: string): boolean => isIP(hostOf(url)) === 0;

/**
 * The IPv4 addresses, else the IPv6 ones: a server with both counts once, and all clients see the
 * same addresses.
 */
function addressesOf(url: string, all: readonly LookupAddress[]): Address[] {
  const v4 = all.filter(({ family }) => family === 4);
  return (v4.length > 0 ? v4 : all).map(({ address }) => ({ url, ip: address }));
}
