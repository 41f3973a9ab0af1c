/** What the commands have in common that change points, holds and reservations. */
import type { Command } from "@commander-js/extra-typings";
import { causeOption, dryRunOption, programOption, reasonOption } from "./options.ts";

/** A command with the options of every change. */
export const changeCommand = (parent: Command, name: string, summary: string) =>
  parent
    .command(name)
    .summary(summary)
    .addOption(programOption())
    .addOption(reasonOption())
    .addOption(causeOption())
    .addOption(dryRunOption());

export interface ChangeOptions {
  readonly program: string;
  readonly reason?: string | undefined;
  readonly cause?: string | undefined;
  readonly dryRun: boolean;
}

/** The fields that the requests of these changes have. */
export const changeFields = ({
  program: programId,
  reason = "",
  cause = "",
  dryRun: validateOnly,
}: ChangeOptions) => ({ programId, reason, cause, validateOnly });
