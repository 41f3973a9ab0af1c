/** The use cases that create and change programs. */
import { DomainError } from "../../domain/errors.ts";
import { lengthen, type Program } from "../../domain/program.ts";
import { timeZoneOf } from "../../domain/time-zone.ts";
import type { Deps } from "../ports/deps.ts";
import { programRef } from "../ports/records.ts";

/**
 * Creates a program. Returns it, replayed, when it exists with this zone (in any case) and this
 * lifetime. Refusals: INVALID_REQUEST for an unknown zone, ID_REUSED when the program exists with
 * another zone or lifetime.
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
        const isSame =
          existing.timeZone === timeZone &&
          existing.lifetimes[0]?.lifetimeMonths === lifetimeMonths;
        if (isSame) return { program: existing, replayed: true };
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
 * Lengthens a program's lifetime, which takes effect in two minutes. Refusals: PROGRAM_NOT_FOUND,
 * WRONG_STATE for a shorter lifetime.
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

/** The refusal PROGRAM_NOT_FOUND. */
export const programNotFound = (programId: string) =>
  new DomainError("PROGRAM_NOT_FOUND", `there is no program ${programId}`);
