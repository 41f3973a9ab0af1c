/** The forms of what the activities of bulk grants answer. */
import type { BlocksResult, BulkGrantStatus, BulkGrantView } from "../src/contract/bulk-grants.ts";
import type {
  FilePlace,
  NewFiles,
  PickedUpFile,
  SubmittedFromSource,
} from "../src/contract/sheet-sources.ts";
import type { Form } from "./answers.ts";

/** Of an activity that returns nothing. */
export const nothingForm: Form<object> = {};

export const viewForm: Form<BulkGrantView> = {
  program_id: "string",
  bulk_grant_id: "string",
  step: "string",
  state: "string",
  revision: "number",
  digest: "string",
  run: "number",
  block_count: "number",
  row_count: "number",
  total_points: "number",
  submitter: "object",
  starter: "object?",
  title: "string?",
  cause: "string?",
  source: "string?",
  failed_rows_at: "string?",
  execute_time: "string?",
  required_approval_count: "number",
  approvals: "list",
  counts: "object",
  failed_rows: "list?",
  details: "string",
  summary: "list?",
  announcement: "string?",
  wait_ms: "number?",
};

export const statusForm: Form<BulkGrantStatus> = {
  state: "string",
  revision: "number",
  digest: "string",
  approvers: "list",
};

export const progressForm: Form<BlocksResult> = {
  next: "number?",
  stopped: "boolean?",
  counts: "object?",
  failed_rows: "list?",
};

export const submittedForm: Form<SubmittedFromSource> = {
  program_id: "string",
  bulk_grant_id: "string",
  is_own: "boolean",
  left: "object?",
};

export const newFilesForm: Form<NewFiles> = { files: "list", cursor: "string?" };

export const pickedUpForm: Form<PickedUpFile> = { sheet: "object?" };

export const placeForm: Form<FilePlace> = { place: "string?" };
