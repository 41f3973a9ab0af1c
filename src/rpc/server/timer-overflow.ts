/** Keeps deadlines that are too long for a timer of Node away from Connect. */
import { parseTimeout as parseConnectTimeout } from "@connectrpc/connect/protocol-connect";
import { parseTimeout as parseGrpcTimeout } from "@connectrpc/connect/protocol-grpc";

/** In seconds, so that each protocol can write it. Timers have at most 2³¹ − 1 ms. */
const longestSeconds = 2_147_483;
const longestMs = longestSeconds * 1_000;

/**
 * Returns the headers of a request with a deadline that fits a timer. Connect sets its timer before
 * it refuses a deadline above the limit, and Node fires a timer that overflows after 1 ms: the call
 * would get DEADLINE, if it takes longer to find out who calls.
 */
export function fitTimer(header: Headers): Headers {
  const grpc = isTooLong(parseGrpcTimeout(header.get("grpc-timeout"), longestMs));
  const connect = isTooLong(parseConnectTimeout(header.get("connect-timeout-ms"), longestMs));
  if (!grpc && !connect) return header;
  const shortened = new Headers(header);
  if (grpc) shortened.set("grpc-timeout", `${longestSeconds}S`);
  if (connect) shortened.set("connect-timeout-ms", `${longestMs}`);
  return shortened;
}

/** Of a text that is no deadline at all Connect has no number either, and sets no timer. */
const isTooLong = ({ timeoutMs = 0 }: { readonly timeoutMs?: number }): boolean =>
  timeoutMs > longestMs;
