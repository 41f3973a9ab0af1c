import { DomainError } from "../../domain/errors.ts";
import { lengthen, type Program } from "../../domain/program.ts";
import { timeZoneOf } from "../../domain/time-zone.ts";
import type { Deps } from "../ports/deps.ts";
import { programRef } from "../ports/records.ts";

/**
 * Creates a program; the same again returns it, in whatever case the zone is written. Refusals:
 * INVALID_REQUEST for an unknown zone, ID_REUSED when it exists with another zone or lifetime.
 */
export async function createProgram(
  deps: Pick<Deps, "engine" | "workflows" | "background">,
  input: {
    readonly programId: string;
    readonly timeZone: string;
    readonly lifetimeMonths: number;
    readonly deadline?: number | undefined;
  },
): Promise<{ program: Program; replayed: boolean }> {
  const { programId, lifetimeMonths, deadline } = input;
  const timeZone = timeZoneOf(input.timeZone);
  if (timeZone === undefined) {
    throw new DomainError("INVALID_REQUEST", `${input.timeZone} is not in the IANA database`, {
      field: "time_zone",
    });
  }
  const ref = programRef(programId);
  const result = await deps.engine.transact({
    key: ref,
    readSet: [],
    expectAbsent: [ref],
    deadline,
    decide(tx, now) {
      const existing = tx.get(ref);
      if (existing) {
        const same =
          existing.timeZone === timeZone &&
          existing.lifetimes[0]?.lifetimeMonths === lifetimeMonths;
        if (same) return { program: existing, replayed: true };
        throw new DomainError("ID_REUSED", "the program exists with another zone or lifetime");
      }
      const lifetimes = [{ lifetimeMonths, effectiveTime: 0 }];
      const program: Program = { programId, timeZone, lifetimes, createTime: now.calendar };
      tx.put(ref, program);
      return { program, replayed: false };
    },
  });
  deps.background(() => deps.workflows.ensureMonthEnd(result.program));
  return result;
}

/**
 * Lengthens a program's lifetime, two minutes from now. Refusals: PROGRAM_NOT_FOUND, WRONG_STATE
 * for a shorter one.
 */
export function updateProgram(
  deps: Pick<Deps, "engine">,
  input: {
    readonly programId: string;
    readonly lifetimeMonths: number;
    readonly deadline: number | undefined;
  },
): Promise<Program> {
  const ref = programRef(input.programId);
  return deps.engine.transact({
    key: ref,
    readSet: [ref],
    expectAbsent: [],
    deadline: input.deadline,
    decide(tx, now) {
      const program = tx.get(ref);
      if (!program) throw programNotFound(input.programId);
      const changed = lengthen(program, input.lifetimeMonths, now.calendar);
      if (changed !== program) tx.put(ref, changed);
      return changed;
    },
  });
}

export const programNotFound = (id: string) =>
  new DomainError("PROGRAM_NOT_FOUND", `there is no program ${id}`);
