/** Limits how many calls a second one service sends to one server. */
import { TokenBucket } from "limiter";
import { LRUCache } from "lru-cache";
import { DomainError } from "../words/errors.ts";

/** Bounds the memory. A service that was quiet longer than so many others has its full burst. */
const maxServices = 10_000;

/**
 * Returns a function that counts a call of a service. Each service has a token bucket that holds
 * the calls of one second. A stream counts as one call. Throws RATE_LIMITED when the bucket is
 * empty.
 */
export function createRateLimit(callsPerSecond: number): (service: string) => void {
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

  return (service) => {
    if (bucketOf(service).tryRemoveTokens(1)) return;
    throw new DomainError(
      "RATE_LIMITED",
      `${service} may send ${callsPerSecond} calls a second to this server`,
    );
  };
}
