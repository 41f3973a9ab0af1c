/** Limits how many calls a second one service sends to one server. */
import type { Interceptor } from "@connectrpc/connect";
import { TokenBucket } from "limiter";
import { LRUCache } from "lru-cache";
import { DomainError } from "../../domain/errors.ts";
import { identityOf } from "./context.ts";

/** Bounds the memory. A service that was quiet longer than so many others has its full burst. */
const maxServices = 10_000;

/**
 * Gives each calling service a token bucket that holds the calls of one second. A stream counts as
 * one call. Throws RATE_LIMITED when the bucket is empty.
 */
export function limitRate(callsPerSecond: number): Interceptor {
  const buckets = new LRUCache<string, TokenBucket>({ max: maxServices });

  function bucketOf(service: string): TokenBucket {
    const known = buckets.get(service);
    if (known) return known;
    const options = { bucketSize: callsPerSecond, tokensPerInterval: callsPerSecond };
    const bucket = new TokenBucket({ ...options, interval: "second" });
    bucket.content = callsPerSecond;
    buckets.set(service, bucket);
    return bucket;
  }

  return (next) => (req) => {
    const { service } = identityOf(req.contextValues).caller;
    if (bucketOf(service).tryRemoveTokens(1)) return next(req);
    throw new DomainError(
      "RATE_LIMITED",
      `${service} may send ${callsPerSecond} calls a second to this server`,
    );
  };
}
