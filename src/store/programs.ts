import { type Programs, programRef, type Reader } from "../app/ports.ts";
import { DomainError } from "../domain/errors.ts";
import type { Program } from "../domain/program.ts";

/** A copy is refreshed from this age on, and nothing is decided on one older than `staleMs`. */
const refreshMs = 30_000;
const staleMs = 60_000;

/**
 * The programs, kept for a while: the delay of a lengthening is longer than any copy lives. With
 * `always`, as under the test clock that can jump over the delay, every copy is fresh.
 */
export function createPrograms(reader: Reader, always = false): Programs {
  const copies = new Map<string, { program: Program; at: number }>();
  const loading = new Map<string, Promise<Program>>();

  function load(id: string): Promise<Program> {
    const under = loading.get(id);
    if (under) return under;
    const promise = read(id).finally(() => loading.delete(id));
    loading.set(id, promise);
    return promise;
  }

  async function read(id: string): Promise<Program> {
    const at = performance.now();
    const found = await reader.get(programRef(id));
    if (!found) throw new DomainError("PROGRAM_NOT_FOUND", `there is no program ${id}`);
    copies.set(id, { program: found.value, at });
    return found.value;
  }

  return {
    async get(id) {
      if (always) return read(id);
      const copy = copies.get(id);
      const age = copy ? performance.now() - copy.at : Number.POSITIVE_INFINITY;
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
