/** Reads what the server says about an error: its reason, metadata, violations and retry delay. */
import { durationMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  BadRequestSchema,
  type ErrorInfo,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../../../src/gen/google/rpc/error_details_pb.ts";
import { type Reason, reasonTable } from "../../../src/platform/words/reasons.ts";
import { type ReasonMetadata, readMetadata } from "./reason-metadata.ts";

/** The error of a call that was refused, or not served, for a reason. */
export type Refusal<R extends Reason> = ConnectError & {
  /** The metadata of the reason, in the names of TypeScript. */
  readonly reasonMetadata: ReasonMetadata<R>;
};

/** The problem of one field of a request. */
export interface FieldViolation {
  /** The path of the field in the schema's names, such as `user_id`. */
  readonly field: string;
  readonly description: string;
}

/**
 * Returns the reason for which the server has refused or not served a call; docs/call/errors.md
 * has all of them. Returns undefined for an error that no server of Meguri has made, such as a
 * broken connection, and for a reason that is newer than this package.
 */
export function reasonOf(error: unknown): Reason | undefined {
  const reason = errorInfoOf(error)?.reason;
  return reason !== undefined && Object.hasOwn(reasonTable, reason)
    ? (reason as Reason)
    : undefined;
}

/**
 * Whether the server has refused or not served a call for this reason, with the metadata that the
 * reason always has. The error then has it as `reasonMetadata`. Metadata that is unknown, or has
 * another type than in docs/call/errors.md, counts as missing; `metadataOf` has it as it came.
 * Never throws, whatever was caught.
 */
export function isRefusal<R extends Reason>(error: unknown, reason: R): error is Refusal<R> {
  if (!(error instanceof ConnectError) || reasonOf(error) !== reason) return false;
  const reasonMetadata = readMetadata(reason, metadataOf(error));
  if (!reasonMetadata) return false;
  return Reflect.defineProperty(error, "reasonMetadata", {
    value: reasonMetadata,
    configurable: true,
  });
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
  return new ConnectError(what, Code.InvalidArgument, undefined, [invalidRequest], error);
}

/** Returns the refusal for one field of a request, which is not sent. */
export function refusalOfField(field: string, description: string): ConnectError {
  const details = { desc: BadRequestSchema, value: { fieldViolations: [{ field, description }] } };
  const message = `${field}: ${description}`;
  return new ConnectError(message, Code.InvalidArgument, undefined, [invalidRequest, details]);
}

const errorDomain = "meguri";

const invalidRequest = {
  desc: ErrorInfoSchema,
  value: { domain: errorDomain, reason: "INVALID_REQUEST" satisfies Reason },
};

/** Returns the ErrorInfo of Meguri's own errors. */
export function errorInfoOf(error: unknown): ErrorInfo | undefined {
  const infos = ConnectError.from(error).findDetails(ErrorInfoSchema);
  return infos.find(({ domain }) => domain === errorDomain);
}
