/** Recognises requests that have failed in the network or on the server. */
import { isServerError, isThrottlingError, isTransientError } from "@smithy/core/retry";

/** An error with the fields that the SDK adds to errors of requests. */
export type RequestError = Parameters<typeof isTransientError>[0] & { readonly code?: string };

/**
 * Codes of broken connections that the SDK does not classify as transient: errors of the socket, of
 * TLS, and of a response that is not HTTP (`HPE_INVALID_CONSTANT`).
 */
const connectionCodes = /^(ECONN|EADDRNOTAVAIL$|ENETDOWN$|EHOSTDOWN$|EPROTO$|ERR_SSL_|HPE_)/;

/**
 * Whether the request failed in the network or on the server, so that it may be sent again: by the
 * SDK's own classification, for a broken connection, and for a response that is not JSON, which a
 * proxy may send. Any other error is a bug of this program, such as a request that cannot be
 * serialised.
 */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const failed = error as RequestError;
  if (isTransientError(failed) || isThrottlingError(failed) || isServerError(failed)) return true;
  const { $metadata, code, name } = failed;
  const isForeignAnswer = name === "SyntaxError" && $metadata?.httpStatusCode !== undefined;
  return isForeignAnswer || connectionCodes.test(code ?? "");
}
