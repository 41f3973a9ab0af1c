/** The copies of programs that a process decides on. */
import type { Reader } from "../app/ports/deps.ts";
import type { Programs } from "../app/ports/programs.ts";
import { programRef } from "../app/ports/records.ts";
import { DomainError } from "../domain/errors.ts";
import type { Program } from "../domain/program.ts";

/** A copy is refreshed from this age on, and nothing is decided on one older than `staleMs`. */
const refreshMs = 30_000;
const staleMs = 60_000;

/** A program as it was read, and both clocks just before the read. */
interface Copy {
  readonly program: Program;
  readonly monotonic: number;
  readonly wall: number;
}

/**
 * The age of a copy in ms: the greater of its ages by the two clocks. The monotonic clock stands
 * still while a machine is suspended. A wall clock that was set back may hide such a pause, so its
 * difference counts in both directions.
 */
function ageOf({ monotonic, wall }: Copy): number {
  return Math.max(performance.now() - monotonic, Math.abs(Date.now() - wall));
}

/**
 * The programs, kept for a while: the delay of a lengthening is longer than any copy lives. With
 * `always`, as under the test clock that can jump over the delay, every copy is fresh.
 */
export function createProgramCache(reader: Reader, always = false): Programs {
  const copies = new Map<string, Copy>();
  const loading = new Map<string, Promise<Program>>();

  function load(id: string): Promise<Program> {
    const under = loading.get(id);
    if (under) return under;
    const promise = read(id).finally(() => loading.delete(id));
    loading.set(id, promise);
    return promise;
  }

  async function read(id: string): Promise<Program> {
    const clocks = { monotonic: performance.now(), wall: Date.now() };
    const found = await reader.get(programRef(id));
    if (!found) throw new DomainError("PROGRAM_NOT_FOUND", `there is no program ${id}`);
    copies.set(id, { program: found.value, ...clocks });
    return found.value;
  }

  return {
    async get(id) {
      if (always) return read(id);
      const copy = copies.get(id);
      const age = copy ? ageOf(copy) : Number.POSITIVE_INFINITY;
      if (copy && age < refreshMs) return copy.program;
      if (copy && age < staleMs) {
        load(id).catch(() => undefined);
        return copy.program;
      }
      try {
        return await load(id);
      } catch (error) {
        if (!copy || !(error instanceof DomainError) || !error.retryable) throw error;
        throw new DomainError("PROGRAM_STALE", "the program could not be read for a minute");
      }
    },
  };
}
