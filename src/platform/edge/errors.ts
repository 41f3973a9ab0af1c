/** Maps errors to the wire: each reason with its code, one ErrorInfo and its RetryInfo. */
import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../../gen/google/rpc/error_details_pb.ts";
import { type FieldViolation, InvalidRequest } from "../messages/invalid-request.ts";
import { cutToBytes } from "../words/display-text.ts";
import { DomainError } from "../words/errors.ts";
import { reasonTable, type StatusCode } from "../words/reasons.ts";

/** The domain of the reasons, in every `google.rpc.ErrorInfo`. */
const errorDomain = "meguri";

/** Connect's codes for the status codes in the table of reasons. */
const connectCodes: Readonly<Record<StatusCode, Code>> = {
  INVALID_ARGUMENT: Code.InvalidArgument,
  DEADLINE_EXCEEDED: Code.DeadlineExceeded,
  NOT_FOUND: Code.NotFound,
  RESOURCE_EXHAUSTED: Code.ResourceExhausted,
  FAILED_PRECONDITION: Code.FailedPrecondition,
  ABORTED: Code.Aborted,
  UNAVAILABLE: Code.Unavailable,
  DATA_LOSS: Code.DataLoss,
  UNAUTHENTICATED: Code.Unauthenticated,
  PERMISSION_DENIED: Code.PermissionDenied,
};

/** The error for a request that is no message of its method. */
export const unreadable = (message: string) => new DomainError("INVALID_REQUEST", message);

/**
 * The error that the client gets. A DomainError has its reason's code and exactly one ErrorInfo. An
 * error of Connect itself stays as it is. Anything else becomes INTERNAL without any details.
 */
export function toConnectError(error: unknown): ConnectError {
  if (error instanceof DomainError) return fromDomainError(error);
  const interrupted = error instanceof Error && error.name === "AbortError";
  if (!interrupted && !(error instanceof ConnectError)) {
    return new ConnectError("internal error", Code.Internal);
  }
  const connectError = ConnectError.from(error);
  const isOurs = connectError.details.length > 0;
  if (connectError.code !== Code.DeadlineExceeded || isOurs) return connectError;
  return fromDomainError(
    new DomainError("DEADLINE", "the deadline passed; the change may still be stored"),
  );
}

/**
 * The most bytes of a refusal in the trailers of gRPC. Many clients take 8 KiB of metadata and
 * fail with RESOURCE_EXHAUSTED for more, and their callers send the call again.
 */
const maxTrailerBytes = 4_096;

/** A message of so many UTF-16 units fits, with its details. */
const shortMessage = 128;

/** The error on the wire, with shorter texts if it would be too long to arrive. */
function fromDomainError(error: DomainError): ConnectError {
  if (error.message.length <= shortMessage) return withTexts(error, maxTrailerBytes);
  for (let textBytes = maxTrailerBytes; ; textBytes /= 2) {
    const cut = withTexts(error, textBytes);
    if (trailerBytes(cut) <= maxTrailerBytes || textBytes < 1) return cut;
  }
}

function trailerBytes(error: ConnectError): number {
  const trailers = new Headers();
  setTrailerStatus(trailers, error);
  return [...trailers].reduce((sum, [name, value]) => sum + name.length + value.length, 0);
}

function cutText(text: string, maxBytes: number): string {
  const cut = cutToBytes(text, maxBytes);
  return cut === text ? text : `${cut} ...`;
}

/** The error with texts of so many bytes at most; metadata, which programs read, stays whole. */
function withTexts(error: DomainError, textBytes: number): ConnectError {
  const { reason, message, metadata } = error;
  const { code, retryDelayMs } = reasonTable[reason];
  const info = { domain: errorDomain, reason, metadata: { ...metadata } };
  // It may quote half a surrogate pair of the request, which no header can have.
  const text = cutText(message.toWellFormed(), textBytes);
  const connectError = new ConnectError(text, connectCodes[code], undefined, [
    { desc: ErrorInfoSchema, value: info },
  ]);
  if (retryDelayMs !== undefined) {
    const retryDelay = durationFromMs(retryDelayMs);
    connectError.details.push({ desc: RetryInfoSchema, value: { retryDelay } });
  }
  if (reason === "INVALID_REQUEST") {
    const fieldViolations = violationsOf(error).map(({ field, description }) => ({
      field,
      description: cutText(description, textBytes),
    }));
    const value = create(BadRequestSchema, { fieldViolations });
    connectError.details.push({ desc: BadRequestSchema, value });
  }
  return connectError;
}

/**
 * The violations of an error. A use case that refuses a field names it in the metadata. Its message
 * may begin with this name, and the description is what follows.
 */
function violationsOf(error: DomainError): readonly FieldViolation[] {
  if (error instanceof InvalidRequest) return error.violations;
  const { field = "" } = error.metadata;
  const { message } = error;
  const named = field && [`${field}: `, `${field} `].find((start) => message.startsWith(start));
  return [{ field, description: message.slice(named ? named.length : 0) }];
}
