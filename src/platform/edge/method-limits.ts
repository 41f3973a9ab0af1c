/** The options of a method: its limits in time and bytes, and whether it is audited. */
import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import {
  file_meguri_access_v1_access as accessFile,
  audited,
  body_limit,
  default_body_limit,
  default_time_limit,
  scope,
  time_limit,
} from "../../gen/meguri/access/v1/access_pb.ts";
import { DomainError } from "../words/errors.ts";

/** The time limit of most calls. */
export const defaultTimeLimitMs = durationMs(getOption(accessFile, default_time_limit));

/** The most bytes that a message of most requests may have. */
export const defaultBodyLimit = getOption(accessFile, default_body_limit);

/** The most bytes that a message to the standard services may have, which need no caller. */
const publicBodyLimit = 4 * 2 ** 10;

const bodyTimeMs = 10_000;
const sheetTimeMs = 30_000;

interface MethodLimits {
  /** How long a call may take at most; of a stream that the server sends, until it begins. */
  readonly timeMs: number;
  /** The most bytes that a message of a request may have after decompression. */
  readonly bodyBytes: number;
  /** How long the body of a request may take to arrive, whatever deadline the client names. */
  readonly bodyTimeMs: number;
  /** Whether requests have sheets, which take more room and time than others. */
  readonly takesSheets: boolean;
  /** Whether its changes write acts, and the log has each of its calls. */
  readonly isAudited: boolean;
}

const known = new WeakMap<DescMethod, MethodLimits>();

/** The options of a method. To read the options takes longer than all other work for them. */
export function limitsOf(method: DescMethod): MethodLimits {
  const found = known.get(method);
  if (found) return found;
  const timeMs = hasOption(method, time_limit) && durationMs(getOption(method, time_limit));
  const takesSheets = getOption(method, body_limit) > 0;
  const isPublic = getOption(method, scope) === "";
  const limits = {
    timeMs: timeMs || defaultTimeLimitMs,
    bodyBytes: getOption(method, body_limit) || (isPublic ? publicBodyLimit : defaultBodyLimit),
    bodyTimeMs: takesSheets ? sheetTimeMs : bodyTimeMs,
    takesSheets,
    isAudited: getOption(method, audited),
  };
  known.set(method, limits);
  return limits;
}

/** The refusal of a request that is larger than its method's limit. */
export const tooLarge = (method: DescMethod): DomainError =>
  beyond(limitsOf(method).bodyBytes, "in all");

/** The refusal of a request with more beside its longest text than most requests may have. */
export const tooManyFields = (): DomainError => beyond(defaultBodyLimit, "beside one long text");

const beyond = (limit: number, where: string) =>
  new DomainError("REQUEST_TOO_LARGE", `the request may have at most ${limit} bytes ${where}`, {
    limit: String(limit),
  });

/** The refusal of a request whose body has not arrived within its time. */
export const tooSlow = (method: DescMethod): DomainError =>
  new DomainError("DEADLINE", `the request took more than ${limitsOf(method).bodyTimeMs} ms`);
