/** Changes the record of a program in one transaction. */

import { putAct } from "../../../acts/use-cases/acts.ts";
import type { CallLimits } from "../../../platform/ports/call.ts";
import type { Now } from "../../../platform/ports/clock.ts";
import { DomainError } from "../../../platform/words/errors.ts";
import { changeRecord } from "../../../platform/work/change-record.ts";
import type { Deps } from "../../ports/deps.ts";
import { programRef } from "../../ports/records.ts";
import type { Program } from "../../rules/program.ts";
import { programChanged } from "./program-acts.ts";

/**
 * Writes what `change` makes of the program, with the act of an audited call; nothing when that is
 * the same program. Refusals: PROGRAM_NOT_FOUND, and those of `change`.
 */
export async function changeProgram(
  deps: Pick<Deps, "engine">,
  call: { readonly programId: string; readonly reason?: string } & CallLimits,
  change: (program: Program, now: Now) => Program,
): Promise<Program> {
  const { programId, reason } = call;
  const ref = programRef(programId);
  const { record } = await changeRecord<"program", Program>(
    deps,
    {
      ref,
      call,
      together(tx, { wall }, { before: program, record }) {
        const changed = programChanged(programId, { program }, { program: record }, reason);
        putAct(tx, call, wall, changed);
      },
    },
    (program, now) => {
      if (!program) throw programNotFound(programId);
      return change(program, now);
    },
  );
  return record;
}

/** The refusal PROGRAM_NOT_FOUND. */
export const programNotFound = (programId: string) =>
  new DomainError("PROGRAM_NOT_FOUND", `there is no program ${programId}`);
