/** What the client knows of each method from the contract. */
import type { DescMethod } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { BulkGrantService } from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { type KeyReader, keyReaderOf } from "./call-key.ts";

interface MethodInfo {
  /** Whether a call that may have been made can be sent again. */
  readonly isIdempotent: boolean;
  /** Undefined if the requests of the method have no key. */
  readonly keyOf: KeyReader | undefined;
  /** The deadline of calls that read a whole sheet; undefined for all others. */
  readonly sheetTimeoutMs: number | undefined;
}

/** The servers' own limit for calls that read a whole sheet. */
const sheetTimeoutMs = 600_000;

const { checkSheet, reverseBulkGrant } = BulkGrantService.method;
const sheetMethods: ReadonlySet<DescMethod> = new Set([checkSheet, reverseBulkGrant]);

const infos = new WeakMap<DescMethod, MethodInfo>();

/** Returns what is known of a method, which is read from its descriptor once. */
export function methodInfo(method: DescMethod): MethodInfo {
  const known = infos.get(method);
  if (known) return known;
  const info: MethodInfo = {
    isIdempotent: method.idempotency !== MethodOptions_IdempotencyLevel.IDEMPOTENCY_UNKNOWN,
    keyOf: keyReaderOf(method.input),
    sheetTimeoutMs: sheetMethods.has(method) ? sheetTimeoutMs : undefined,
  };
  infos.set(method, info);
  return info;
}
