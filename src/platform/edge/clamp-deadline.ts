/** Shortens deadlines that are longer than any call may last. */
import { parseTimeout as parseConnectTimeout } from "@connectrpc/connect/protocol-connect";
import { parseTimeout as parseGrpcTimeout } from "@connectrpc/connect/protocol-grpc";
import { maxTimeoutMs } from "./context.ts";

/**
 * Returns the headers of a request with a deadline of an hour at most. Connect would refuse a
 * longer one, which a client may have set once for all of its calls.
 */
export function clampDeadline(header: Headers): Headers {
  const grpc = isTooLong(parseGrpcTimeout(header.get("grpc-timeout"), maxTimeoutMs));
  const connect = isTooLong(parseConnectTimeout(header.get("connect-timeout-ms"), maxTimeoutMs));
  if (!grpc && !connect) return header;
  const clamped = new Headers(header);
  if (grpc) clamped.set("grpc-timeout", `${maxTimeoutMs}m`);
  if (connect) clamped.set("connect-timeout-ms", `${maxTimeoutMs}`);
  return clamped;
}

/** Of a text that is no deadline at all Connect has no number either, and refuses it. */
const isTooLong = ({ timeoutMs = 0 }: { readonly timeoutMs?: number }): boolean =>
  timeoutMs > maxTimeoutMs;
