/** The time limit and the body limit of a method, which are options in the contract. */
import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { DomainError } from "../../domain/errors.ts";
import {
  file_meguri_access_v1_access as accessFile,
  body_limit,
  default_body_limit,
  default_time_limit,
  time_limit,
} from "../../gen/meguri/access/v1/access_pb.ts";

/** The time limit of most calls without a deadline of their own. */
export const defaultTimeLimitMs = durationMs(getOption(accessFile, default_time_limit));

/** The most bytes that a message of most requests may have. */
export const defaultBodyLimit = getOption(accessFile, default_body_limit);

/** The time limit of a call without a deadline of its own, in ms. */
export function timeLimitMsOf(method: DescMethod): number {
  const known = timeLimits.get(method);
  if (known !== undefined) return known;
  const isOwn = hasOption(method, time_limit);
  const limitMs = isOwn ? durationMs(getOption(method, time_limit)) : defaultTimeLimitMs;
  timeLimits.set(method, limitMs);
  return limitMs;
}

/** To read an option takes longer than all other work for a deadline. */
const timeLimits = new WeakMap<DescMethod, number>();

/** The most bytes that a message of a request may have after decompression. */
export const bodyLimitOf = (method: DescMethod): number =>
  getOption(method, body_limit) || defaultBodyLimit;

/** The refusal of a request that is larger than its method's limit, or inflates too much. */
export function tooLarge(method: DescMethod): DomainError {
  const limit = String(bodyLimitOf(method));
  return new DomainError("REQUEST_TOO_LARGE", `the request may have at most ${limit} bytes`, {
    limit,
  });
}
