/** The group of the commands about bulk grants, and those that change one by its id alone. */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { CallOptions, Meguri } from "@meguri/client";
import {
  type BulkGrant,
  CancelBulkGrantResponseSchema,
  PauseBulkGrantResponseSchema,
  RejectBulkGrantResponseSchema,
  ResumeBulkGrantResponseSchema,
  RetryBulkGrantResponseSchema,
} from "@meguri/client/bulk-grants";
import { type AddCommand, examples } from "./action.ts";
import { addApprove } from "./bulk-approve.ts";
import { addDiff } from "./bulk-diff.ts";
import { addDigest } from "./bulk-digest.ts";
import { addBulkList } from "./bulk-list.ts";
import { addReverse } from "./bulk-reverse.ts";
import { addAudit, addExportFailed, addRows } from "./bulk-rows.ts";
import { addCheck, addSubmit } from "./bulk-sheets.ts";
import { addBulkShow } from "./bulk-show.ts";
import { addTemplate } from "./bulk-template.ts";
import { aboutBulkGrant } from "./bulk-text.ts";
import { addWatch } from "./bulk-watch.ts";
import { changeReasonOption, programOption } from "./options.ts";

export const addBulk: AddCommand = (parent, inSession) => {
  const bulk = parent
    .command("bulk")
    .summary("give points to many users by a sheet")
    .description(
      "Gives points to many users by one sheet of CSV with the columns user_id, points and, " +
        "optionally, reason. The sheet is submitted and checked, approved by another person, and " +
        "then granted row by row.",
    )
    .addHelpText(
      "after",
      examples(
        "meguri bulk check spring sheet.csv",
        "meguri bulk submit spring sheet.csv",
        "meguri bulk approve spring",
        "meguri bulk watch spring",
      ),
    );
  for (const add of commands) add(bulk, inSession);
};

/** A command that sends one change of a bulk grant. */
interface ChangeCommand<S extends DescMessage> {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly schema: S;
  readonly send: (
    bulkGrants: Meguri["bulkGrants"],
    request: { readonly programId: string; readonly bulkGrantId: string; readonly reason: string },
    call: CallOptions,
  ) => Promise<MessageShape<S> & { bulkGrant?: BulkGrant | undefined }>;
}

const change =
  <S extends DescMessage>({
    name,
    summary,
    description,
    schema,
    send,
  }: ChangeCommand<S>): AddCommand =>
  (parent, inSession) => {
    parent
      .command(name)
      .summary(summary)
      .description(description)
      .argument("<id>", "the bulk grant")
      .addOption(programOption())
      .addOption(changeReasonOption())
      .addHelpText("after", examples(`meguri bulk ${name} spring`))
      .action(
        inSession(async ({ meguri, out, call }, bulkGrantId, options) => {
          const { program: programId, reason = "" } = options;
          const answer = await send(meguri.bulkGrants, { programId, bulkGrantId, reason }, call);
          await out.message(schema, answer, () => `${aboutBulkGrant(answer.bulkGrant)}\n`);
        }),
      );
  };

const commands: readonly AddCommand[] = [
  addTemplate,
  addCheck,
  addSubmit,
  addDigest,
  addApprove,
  change({
    name: "reject",
    summary: "refuse to approve a bulk grant",
    description: "Rejects a bulk grant that awaits approval. A corrected sheet can follow.",
    schema: RejectBulkGrantResponseSchema,
    send: (bulkGrants, request, call) => bulkGrants.rejectBulkGrant(request, call),
  }),
  addWatch,
  addBulkList,
  addBulkShow,
  addRows,
  addDiff,
  addExportFailed,
  addAudit,
  change({
    name: "retry",
    summary: "run the failed rows again",
    description: "Runs the failed rows of a bulk grant that is DONE_WITH_FAILURES again.",
    schema: RetryBulkGrantResponseSchema,
    send: (bulkGrants, request, call) => bulkGrants.retryBulkGrant(request, call),
  }),
  change({
    name: "pause",
    summary: "stop a run after the rows under way",
    description: "Stops a bulk grant after the rows under way, until meguri bulk resume.",
    schema: PauseBulkGrantResponseSchema,
    send: (bulkGrants, request, call) => bulkGrants.pauseBulkGrant(request, call),
  }),
  change({
    name: "resume",
    summary: "go on after a pause",
    description: "Ends the pause of a bulk grant.",
    schema: ResumeBulkGrantResponseSchema,
    send: (bulkGrants, request, call) => bulkGrants.resumeBulkGrant(request, call),
  }),
  change({
    name: "cancel",
    summary: "end a bulk grant before it is done",
    description:
      "Cancels a bulk grant. One that runs stops within two seconds, and ends about ten later.",
    schema: CancelBulkGrantResponseSchema,
    send: (bulkGrants, request, call) => bulkGrants.cancelBulkGrant(request, call),
  }),
  addReverse,
];
