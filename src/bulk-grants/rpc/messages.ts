/** Maps bulk grants, their rows and the fields of requests between messages and the domain. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  BulkGrant_ActionSchema,
  BulkGrant_StateSchema,
  BulkGrantProgressSchema,
  BulkGrantRevisionSchema,
  BulkGrantRow_StateSchema,
  BulkGrantRowSchema,
  BulkGrantSchema,
  type BulkGrantRow_State as RowState,
  SheetCheckSchema,
  SheetReadingSchema,
  type BulkGrant_State as State,
} from "../../gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import { BulkGrantSummarySchema } from "../../gen/meguri/bulkgrants/v1/bulk_grant_summary_pb.ts";
import { EventOriginSchema } from "../../gen/meguri/points/v1/ledger_entry_pb.ts";
import { callOf } from "../../platform/edge/context.ts";
import { fromRecord, toEnumName } from "../../platform/messages/records.ts";
import { fromOptionalMonth, toNfc } from "../../platform/messages/scalars.ts";
import { withoutControls } from "../../platform/words/controls.ts";
import { toProgramId } from "../../platform/words/program-ids.ts";
import { plain, plainText, type TextStyle } from "../../platform/words/text-style.ts";
import { fromEventName } from "../../points/rpc/ledger-entries.ts";
import type { Deps } from "../ports/deps.ts";
import type {
  Action,
  BulkGrant,
  BulkGrantState,
  Revision,
  RunCounts,
} from "../rules/bulk-grant.ts";
import { detailsOf, requestText } from "../rules/bulk-grant-text.ts";
import { problemText } from "../rules/sheet.ts";
import type { SheetReading } from "../rules/sheet-reading.ts";
import { readingText } from "../rules/sheet-reading-text.ts";
import { isStressed, type SheetWarning, sheetWarningText } from "../rules/sheet-warning.ts";
import type { SheetCheck } from "../use-cases/check-sheet.ts";
import type { BulkGrantChange } from "../use-cases/commands.ts";
import type {
  BulkGrantWithProgress,
  ReadRow,
  RowState as RowStateName,
} from "../use-cases/queries.ts";
import type { ReadSummary } from "../use-cases/summarize.ts";

/** The state of bulk grants that a request selects; undefined for all. */
export const toState = (value: State): BulkGrantState | undefined =>
  toEnumName(BulkGrant_StateSchema, value);

/** The state of rows that a request selects; undefined for all. */
export const toRowState = (value: RowState): RowStateName | undefined =>
  toEnumName(BulkGrantRow_StateSchema, value);

/** The bulk grant that a request names. `prefix` precedes its field in a refusal. */
export const toName = (
  request: { readonly programId: string; readonly bulkGrantId: string },
  prefix = "",
) => ({
  programId: toProgramId(request.programId),
  bulkGrantId: toNfc(request.bulkGrantId, `${prefix}bulk_grant_id`),
});

/** The change that the caller of a request makes. */
export const toChange = (
  request: Parameters<typeof toName>[0] & { readonly reason: string },
  context: HandlerContext,
): BulkGrantChange => ({
  ...toName(request),
  ...callOf(context),
  reason: request.reason,
});

type ProgramDeps = Pick<Deps, "programs">;

/** How texts of a program's bulk grants are written. */
export const styleOf = async ({ programs }: ProgramDeps, programId: string): Promise<TextStyle> =>
  plainText((await programs.get(programId)).timeZone);

/** The message of a bulk grant. */
export async function fromBulkGrant(
  deps: ProgramDeps,
  record: BulkGrant,
): Promise<MessageInitShape<typeof BulkGrantSchema>> {
  const { revision: current, ...bulkGrant } = record;
  const { number, ...revision } = current;
  return fromRecord(BulkGrantSchema, {
    ...bulkGrant.checked,
    ...revision,
    ...bulkGrant,
    revision: number,
    request: requestOf(current),
    expireMonth: fromOptionalMonth(revision.expireMonth),
    result: bulkGrant.result && withProblems(bulkGrant.result),
    pause: bulkGrant.pause && shownAction(bulkGrant.pause),
    cancelRequest: bulkGrant.cancelRequest && shownAction(bulkGrant.cancelRequest),
    actions: bulkGrant.actions.map(shownAction),
    details: detailsOf(record, await styleOf(deps, record.programId)),
  });
}

/** What is requested, as its message has it; undefined for rows of a sheet. */
function requestOf(revision: Revision) {
  const { request, totalPoints: points } = revision;
  if (!request) return undefined;
  const { userId, reason, revokedEvent } = request;
  const event = revokedEvent && fromEventName(revokedEvent);
  return {
    operation: event ? "REVOKE" : "GRANT",
    userId,
    points,
    reason,
    grantEvent: event && { ...event, origin: toEnumName<string>(EventOriginSchema, event.origin) },
    text: requestText(revision, { value: withoutControls }),
  };
}

const shownAction = (action: Action) => ({ ...action, type: action.action });

/** The message of an action. */
export const fromAction = (action: Action): MessageInitShape<typeof BulkGrant_ActionSchema> =>
  fromRecord(BulkGrant_ActionSchema, shownAction(action));

/** The message of a revision. */
export const fromRevision = (
  revision: Revision,
): MessageInitShape<typeof BulkGrantRevisionSchema> =>
  fromRecord(BulkGrantRevisionSchema, {
    ...revision,
    revision: revision.number,
    expireMonth: fromOptionalMonth(revision.expireMonth),
    request: requestOf(revision),
  });

/** The counts of problems by their code, as a list. */
export const withProblems = <T extends Pick<RunCounts, "problemCounts">>(counts: T) => ({
  ...counts,
  problemCounts: Object.entries(counts.problemCounts).map(([code, rowCount]) => ({
    code,
    rowCount,
  })),
});

/** The messages of a bulk grant and its progress. */
export const fromWithProgress = async (
  deps: ProgramDeps,
  { bulkGrant, progress }: BulkGrantWithProgress,
) => ({
  bulkGrant: await fromBulkGrant(deps, bulkGrant),
  progress: fromRecord(BulkGrantProgressSchema, progress),
});

/** The message of a row. */
export const fromRow = ({
  row,
  state,
  problems,
}: ReadRow): MessageInitShape<typeof BulkGrantRowSchema> =>
  fromRecord(BulkGrantRowSchema, {
    ...row,
    state,
    problems: problems.map((problem) => ({
      line: row.line,
      userId: row.userId,
      code: problem.code,
      message: problemText(problem),
    })),
  });

/** A reading with its text, and the month of its sample as messages have it. */
const withText = (reading: SheetReading, style: TextStyle) => ({
  ...reading,
  sample: reading.sample && {
    ...reading.sample,
    expireMonth: fromOptionalMonth(reading.sample.expireMonth),
  },
  text: readingText(reading, style),
});

/** The message of how a sheet was understood. */
export const fromReading = (
  reading: SheetReading,
  style: TextStyle,
): MessageInitShape<typeof SheetReadingSchema> =>
  fromRecord(SheetReadingSchema, withText(reading, style));

/** The message of a check. */
export const fromCheck = (
  { reading, ...check }: SheetCheck,
  style: TextStyle,
): MessageInitShape<typeof SheetCheckSchema> =>
  fromRecord(SheetCheckSchema, {
    ...withProblems(check),
    reading: reading && withText(reading, style),
    sheetWarnings: check.warnings.map(shownWarning),
  });

const shownWarning = (warning: SheetWarning) => ({
  ...warning,
  firstLines: warning.lines,
  text: sheetWarningText(warning, plain),
  stressed: isStressed(warning),
});

/** The message of a summary. */
export const fromSummary = (
  {
    revision,
    summary: { difference, lookAlikes, reading, warnings = [], ...summary },
    warned,
    expireTime,
  }: ReadSummary,
  style: TextStyle,
): MessageInitShape<typeof BulkGrantSummarySchema> =>
  fromRecord(BulkGrantSummarySchema, {
    ...summary,
    reading: reading && withText(reading, style),
    revision,
    expireTime,
    reasons: summary.reasons.map((total) => ({ variantCount: 1, ...total })),
    expireMonths: summary.expireMonths?.map((sum) => ({
      ...sum,
      expireMonth: fromOptionalMonth(sum.expireMonth),
    })),
    difference: difference && {
      ...difference,
      previousRowCount: difference.rowCountBefore,
      previousPoints: difference.pointsBefore,
    },
    lookAlikeBulkGrantIds: lookAlikes,
    sheetWarnings: warnings.map(shownWarning),
    overlaps: summary.overlaps.map((overlap) => ({ ...overlap, warned: warned.includes(overlap) })),
  });
