import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { DomainError, type Reason } from "../../domain/errors.ts";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../../gen/google/rpc/error_details_pb.ts";

/** Whose reasons they are, in every `google.rpc.ErrorInfo`. */
export const errorDomain = "meguri";

/** How a reason is told to clients. */
interface Told {
  readonly code: Code;
  /** The call may be sent again after this long; absent where sending it again is no remedy. */
  readonly retryMs?: number;
}

/** Every reason, as the table in docs tells it. */
export const toldAs: Readonly<Record<Reason, Told>> = {
  INVALID_REQUEST: { code: Code.InvalidArgument },
  ID_REUSED: { code: Code.FailedPrecondition },
  INSUFFICIENT_POINTS: { code: Code.FailedPrecondition },
  ACCOUNT_FROZEN: { code: Code.FailedPrecondition },
  WRONG_STATE: { code: Code.FailedPrecondition },
  LIMIT_EXCEEDED: { code: Code.FailedPrecondition },
  PROGRAM_NOT_FOUND: { code: Code.NotFound },
  ACCOUNT_NOT_FOUND: { code: Code.NotFound },
  LEDGER_ENTRY_NOT_FOUND: { code: Code.NotFound },
  RESERVATION_NOT_FOUND: { code: Code.NotFound },
  VERIFICATION_NOT_FOUND: { code: Code.NotFound },
  TARGET_NOT_FOUND: { code: Code.NotFound },
  TARGET_DELETED: { code: Code.NotFound },
  UNAUTHENTICATED: { code: Code.Unauthenticated },
  LEDGER_DAMAGED: { code: Code.DataLoss },
  TOO_MANY_STREAMS: { code: Code.ResourceExhausted, retryMs: 5_000 },
  CONTENDED: { code: Code.Aborted, retryMs: 100 },
  DEADLINE: { code: Code.DeadlineExceeded },
  STORE_UNAVAILABLE: { code: Code.Unavailable, retryMs: 1_000 },
  WORKFLOWS_UNAVAILABLE: { code: Code.Unavailable, retryMs: 1_000 },
  CLOCK_OFF: { code: Code.Unavailable, retryMs: 1_000 },
  PROGRAM_STALE: { code: Code.Unavailable, retryMs: 1_000 },
};

/** What is wrong with one field of a request, by its path in the schema's names. */
export interface FieldViolation {
  readonly field: string;
  readonly description: string;
}

/** More of them would not fit into what clients take as metadata. */
const maxViolations = 10;

/** A request that does not say what it has to; names the fields at fault, the first ten at most. */
export class InvalidRequest extends DomainError {
  readonly violations: readonly FieldViolation[];

  constructor(all: readonly FieldViolation[]) {
    const violations = all.slice(0, maxViolations);
    const told = violations.map(({ field, description }) => `${field}: ${description}`);
    super("INVALID_REQUEST", told.join("; "));
    this.violations = violations;
  }
}

/** One field at fault. */
export const invalid = (field: string, description: string): InvalidRequest =>
  new InvalidRequest([{ field, description }]);

/**
 * What is told to the client: a reason with its code and exactly one ErrorInfo; what Connect itself
 * has refused, as it is; anything else as INTERNAL, without a word of what it was.
 */
export function toConnectError(error: unknown): ConnectError {
  if (error instanceof DomainError) return refusal(error);
  const interrupted = error instanceof Error && error.name === "AbortError";
  if (!interrupted && !(error instanceof ConnectError)) {
    return new ConnectError("internal error", Code.Internal);
  }
  const connectError = ConnectError.from(error);
  if (connectError.code !== Code.DeadlineExceeded) return connectError;
  return refusal(
    new DomainError("DEADLINE", "the deadline passed; what was asked may yet be done"),
  );
}

function refusal(error: DomainError): ConnectError {
  const { reason, message, metadata } = error;
  const { code, retryMs } = toldAs[reason];
  const info = { domain: errorDomain, reason, metadata: { ...metadata } };
  const told = new ConnectError(message, code, undefined, [{ desc: ErrorInfoSchema, value: info }]);
  if (retryMs !== undefined) {
    const retryDelay = durationFromMs(retryMs);
    told.details.push({ desc: RetryInfoSchema, value: { retryDelay } });
  }
  if (reason === "INVALID_REQUEST") {
    const value = create(BadRequestSchema, { fieldViolations: violationsOf(error) });
    told.details.push({ desc: BadRequestSchema, value });
  }
  return told;
}

/** The rules name the field in the metadata, where they know it. */
function violationsOf(
  error: DomainError,
): NonNullable<MessageInitShape<typeof BadRequestSchema>["fieldViolations"]> {
  if (error instanceof InvalidRequest) {
    return error.violations.map(({ field, description }) => ({ field, description }));
  }
  return [{ field: error.metadata.field ?? "", description: error.message }];
}
