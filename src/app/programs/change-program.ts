/** Changes the record of a program in one transaction. */
import { DomainError } from "../../domain/errors.ts";
import type { Program } from "../../domain/program.ts";
import type { Now } from "../ports/clock.ts";
import type { Deps } from "../ports/deps.ts";
import { programRef } from "../ports/records.ts";

/**
 * Writes what `change` makes of the program; nothing when that is the same program. Refusals:
 * PROGRAM_NOT_FOUND, and those of `change`.
 */
export function changeProgram(
  { engine }: Pick<Deps, "engine">,
  { programId, deadline }: { readonly programId: string; readonly deadline: number | undefined },
  change: (program: Program, now: Now) => Program,
): Promise<Program> {
  const ref = programRef(programId);
  return engine.transact({
    key: ref,
    readSet: [ref],
    expectAbsent: [],
    deadline,
    decide(tx, now) {
      const program = tx.get(ref);
      if (!program) throw programNotFound(programId);
      const changed = change(program, now);
      if (changed !== program) tx.put(ref, changed);
      return changed;
    },
  });
}

/** The refusal PROGRAM_NOT_FOUND. */
export const programNotFound = (programId: string) =>
  new DomainError("PROGRAM_NOT_FOUND", `there is no program ${programId}`);
