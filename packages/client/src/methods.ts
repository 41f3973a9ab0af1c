/** What the client knows of each method from the contract. */
import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { durationMs, MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { time_limit } from "../../../src/gen/meguri/access/v1/access_pb.ts";
import { type KeyReader, keyReaderOf } from "./call-key.ts";

interface MethodInfo {
  /** Whether a call that may have been made can be sent again. */
  readonly isIdempotent: boolean;
  /** Undefined if the requests of the method have no key. */
  readonly keyOf: KeyReader | undefined;
  /** The time limit of a method that takes longer than most; undefined for all others. */
  readonly timeLimitMs: number | undefined;
}

const infos = new WeakMap<DescMethod, MethodInfo>();

/** Returns what is known of a method, which is read from its descriptor once. */
export function methodInfo(method: DescMethod): MethodInfo {
  const known = infos.get(method);
  if (known) return known;
  const info: MethodInfo = {
    isIdempotent: method.idempotency !== MethodOptions_IdempotencyLevel.IDEMPOTENCY_UNKNOWN,
    keyOf: keyReaderOf(method.input),
    timeLimitMs: hasOption(method, time_limit)
      ? durationMs(getOption(method, time_limit))
      : undefined,
  };
  infos.set(method, info);
  return info;
}
