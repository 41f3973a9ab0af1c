/** Keeps the copies of programs that a process decides on. */

import { ageOf, type ClockReading, readClocks } from "../../platform/ports/clock-reading.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import type { Reader } from "../ports/deps.ts";
import type { Programs } from "../ports/programs.ts";
import { programRef } from "../ports/records.ts";
import type { Program } from "../rules/program.ts";

/** A copy is read again in the background from this age on, and not used from `staleMs` on. */
const refreshMs = 30_000;
const staleMs = 60_000;

/**
 * Keeps each program for up to a minute, which is shorter than the delay after which a longer
 * lifetime takes effect. With `alwaysRead`, it keeps nothing: the test clock can jump over that
 * delay.
 */
export function createProgramCache(reader: Reader, alwaysRead = false): Programs {
  const copies = new Map<string, Copy>();
  const loading = new Map<string, Promise<Program>>();

  function load(programId: string): Promise<Program> {
    const running = loading.get(programId);
    if (running) return running;
    const promise = fetch(programId).finally(() => loading.delete(programId));
    loading.set(programId, promise);
    return promise;
  }

  async function fetch(programId: string): Promise<Program> {
    const clocks = readClocks();
    const found = await reader.get(programRef(programId));
    if (!found) throw new DomainError("PROGRAM_NOT_FOUND", `there is no program ${programId}`);
    const latest = copies.get(programId);
    // Of two reads at the same time, the answer of the earlier one may come last.
    if (!latest || latest.monotonic <= clocks.monotonic) {
      copies.set(programId, { program: found.value, ...clocks });
    }
    return found.value;
  }

  function recent(programId: string, maxAgeMs: Milliseconds): Program | undefined {
    const copy = copies.get(programId);
    return copy && ageOf(copy) < maxAgeMs ? copy.program : undefined;
  }

  return {
    async get(programId) {
      if (alwaysRead) return fetch(programId);
      const copy = copies.get(programId);
      const age = copy ? ageOf(copy) : Number.POSITIVE_INFINITY;
      if (copy && age < refreshMs) return copy.program;
      if (copy && age < staleMs) {
        load(programId).catch(() => undefined);
        return copy.program;
      }
      try {
        return await load(programId);
      } catch (error) {
        if (!copy || !(error instanceof DomainError) || !error.retryable) throw error;
        // It has AWS's code, by which operators know what to do.
        if (error.reason === "STORE_REFUSES") throw error;
        throw new DomainError("PROGRAM_STALE", "the program could not be read for a minute");
      }
    },
    read: load,
    current(programId) {
      const program = recent(programId, staleMs);
      if (program) return program;
      throw new DomainError("PROGRAM_STALE", "this process's copy of the program is too old");
    },
    recent,
  };
}

/** A program as it was read, and the times of both clocks just before the read. */
interface Copy extends ClockReading {
  readonly program: Program;
}
