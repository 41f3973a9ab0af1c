/** The headers that a client adds to each call. */
import type { KeyReader } from "./call-key.ts";
import { traceHeaders } from "./tracing.ts";

/** The header by which a load balancer sends calls of one key to one server. */
const keyHeader = "meguri-key";

/** Keys in headers are visible ASCII, as all ids that servers accept. */
const visibleAscii = /^[!-~]+$/;

/** The key of a call: its own header, or what its request names. */
export function keyOfCall(
  keyOf: KeyReader | undefined,
  own: Headers | undefined,
  request: unknown,
): string | undefined {
  const key = own?.get(keyHeader) ?? keyOf?.(request);
  return key !== undefined && visibleAscii.test(key) ? key : undefined;
}

/** Adds headers to the call's own, which come first. */
export function headersOf(
  own: Headers | undefined,
  added: { caller: string | undefined; key: string | undefined; authorization: string | undefined },
): Record<string, string> {
  const { caller, key, authorization } = added;
  const headers = traceHeaders();
  if (caller !== undefined) headers["meguri-caller"] = caller;
  if (key !== undefined) headers[keyHeader] = key;
  if (authorization !== undefined) headers.authorization = authorization;
  if (own) for (const [name, value] of own) headers[name] = value;
  return headers;
}

/** Throws a TypeError for a value that no header carries. `name` is that of the option. */
export function checkHeaderValue(name: string, value: string): void {
  if (!/^[ -~]*$/.test(value)) throw new TypeError(`${name}: only visible ASCII fits in a header`);
}
