/** The public interface of the client package. */
export { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
export { type CallOptions, Code, ConnectError } from "@connectrpc/connect";
export type { Reason } from "../../../src/platform/words/reasons.ts";
export {
  type FieldViolation,
  isRefusal,
  metadataOf,
  type Refusal,
  reasonOf,
  retryDelayMsOf,
  violationsOf,
} from "./errors.ts";
export type { FollowedEvents } from "./follow-events.ts";
export { createMeguri, type Meguri } from "./meguri.ts";
export type { MeguriOptions, TlsOptions } from "./options.ts";
export type { ReasonMetadata } from "./reason-metadata.ts";
export type { WatchOptions } from "./reopen.ts";
export type { RequestOf } from "./requests.ts";
export type { BulkGrantSheet, UploadOptions } from "./upload-bulk-grant.ts";
export type { BulkGrantWatch } from "./watch-bulk-grant.ts";
export type { OwnerWatch } from "./watch-unread-counts.ts";
export { isWrongAddress } from "./wrong-address.ts";
