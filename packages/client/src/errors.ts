/** Reads what the server says about an error: its reason, metadata, violations and retry delay. */
import { durationMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { type Reason, reasonTable } from "../../../src/domain/errors.ts";
import {
  BadRequestSchema,
  type ErrorInfo,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../../../src/gen/google/rpc/error_details_pb.ts";

/** What is wrong with one field of a request. */
export interface FieldViolation {
  /** The path of the field in the schema's names, such as `user_id`. */
  readonly field: string;
  readonly description: string;
}

/**
 * Returns the reason for which the server has refused or not served a call, as in docs/errors.md.
 * Returns undefined for an error that no server of Meguri has made, such as a broken connection,
 * and for a reason that is newer than this package.
 */
export function reasonOf(error: unknown): Reason | undefined {
  const reason = errorInfoOf(error)?.reason;
  return reason !== undefined && Object.hasOwn(reasonTable, reason)
    ? (reason as Reason)
    : undefined;
}

/** Returns the metadata of the reason, such as `available_points` of INSUFFICIENT_POINTS. */
export function metadataOf(error: unknown): Readonly<Record<string, string>> {
  return errorInfoOf(error)?.metadata ?? {};
}

/** Returns the fields that the server refuses. Only INVALID_REQUEST has any. */
export function violationsOf(error: unknown): FieldViolation[] {
  return ConnectError.from(error)
    .findDetails(BadRequestSchema)
    .flatMap(({ fieldViolations }) => fieldViolations)
    .map(({ field, description }) => ({ field, description }));
}

/** Returns the least time in ms after which the call may be sent again, if the server says one. */
export function retryDelayMsOf(error: unknown): number | undefined {
  const [info] = ConnectError.from(error).findDetails(RetryInfoSchema);
  return info?.retryDelay && durationMs(info.retryDelay);
}

/**
 * Returns the refusal for a request that cannot be encoded, such as points beyond 64 bits, which no
 * server has received; and any other error as it is.
 */
export function asRefusal(error: ConnectError): ConnectError {
  const [, what] = /^serialize binary: (.*)$/s.exec(error.rawMessage) ?? [];
  if (what === undefined || error.code !== Code.Internal) return error;
  const reason: Reason = "INVALID_REQUEST";
  const info = { desc: ErrorInfoSchema, value: { domain: errorDomain, reason } };
  return new ConnectError(what, Code.InvalidArgument, undefined, [info], error);
}

const errorDomain = "meguri";

/** Returns the ErrorInfo of Meguri's own errors. */
export function errorInfoOf(error: unknown): ErrorInfo | undefined {
  const infos = ConnectError.from(error).findDetails(ErrorInfoSchema);
  return infos.find(({ domain }) => domain === errorDomain);
}
