import { DomainError } from "../../domain/errors.ts";
import { lengthen, type Program } from "../../domain/program.ts";
import { timeZoneOf } from "../../domain/time-zone.ts";
import { type Deps, type Page, type PageRequest, programRef } from "../ports/deps.ts";

/**
 * Creates a program; the same again returns it, in whatever case the zone is written. Refusals:
 * INVALID_REQUEST for an unknown zone, ID_REUSED when it exists with another zone or lifetime.
 */
export async function createProgram(
  deps: Deps,
  input: {
    readonly id: string;
    readonly zone: string;
    readonly lifetime: number;
    readonly deadline?: number | undefined;
  },
): Promise<{ program: Program; replayed: boolean }> {
  const { id, lifetime, deadline } = input;
  const zone = timeZoneOf(input.zone);
  if (zone === undefined) {
    throw new DomainError("INVALID_REQUEST", `${input.zone} is not in the IANA database`, {
      field: "time_zone",
    });
  }
  const ref = programRef(id);
  const result = await deps.engine.run({
    key: ref,
    reads: [],
    absent: [ref],
    deadline,
    decide(view, now) {
      const existing = view.get(ref);
      if (existing) {
        const same = existing.zone === zone && existing.lifetimes[0]?.months === lifetime;
        if (same) return { program: existing, replayed: true };
        throw new DomainError("ID_REUSED", "the program exists with another zone or lifetime");
      }
      const lifetimes = [{ months: lifetime, from: 0 }];
      const program: Program = { id, zone, lifetimes, createTime: now.calendar };
      view.put(ref, program);
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
  deps: Deps,
  input: {
    readonly id: string;
    readonly lifetime: number;
    readonly deadline: number | undefined;
  },
): Promise<Program> {
  const ref = programRef(input.id);
  return deps.engine.run({
    key: ref,
    reads: [ref],
    absent: [],
    deadline: input.deadline,
    decide(view, now) {
      const program = view.get(ref);
      if (!program) throw notFound(input.id);
      const changed = lengthen(program, input.lifetime, now.calendar);
      if (changed !== program) view.put(ref, changed);
      return changed;
    },
  });
}

/** As it is stored now, not as this server has it in its copy. Refusal: PROGRAM_NOT_FOUND. */
export async function getProgram(deps: Deps, id: string): Promise<Program> {
  const found = await deps.reader.get(programRef(id));
  if (!found) throw notFound(id);
  return found.value;
}

/** By id. */
export const listPrograms = (deps: Deps, page: PageRequest): Promise<Page<Program>> =>
  deps.reader.programs(page);

const notFound = (id: string) => new DomainError("PROGRAM_NOT_FOUND", `there is no program ${id}`);
