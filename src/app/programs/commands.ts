/** The use cases that create and change programs. */
import { DomainError } from "../../domain/errors.ts";
import {
  type BulkRules,
  lengthen,
  newestLifetime,
  type Program,
  type ProgramNotices,
  setBulkRules,
  setNotices,
} from "../../domain/program.ts";
import { timeZoneOf } from "../../domain/time-zone.ts";
import type { Deps } from "../ports/deps.ts";
import { programRef } from "../ports/records.ts";
import { changeRecord } from "../shared/change-record.ts";
import { requireEtag } from "../shared/etags.ts";
import { changeProgram } from "./change-program.ts";
import { programEtag } from "./etag.ts";
import { getProgram } from "./queries.ts";

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
  const { record: program, isChanged } = await changeRecord(
    deps,
    { ref: programRef(programId), expectAbsent: true, deadline },
    (existing, now): Program => {
      if (!existing) {
        const lifetimes = [{ lifetimeMonths, effectiveTime: 0 }];
        return { programId, timeZone, lifetimes, createTime: now.calendar };
      }
      const isSame =
        existing.timeZone === timeZone && existing.lifetimes[0]?.lifetimeMonths === lifetimeMonths;
      if (isSame) return existing;
      throw new DomainError("ID_REUSED", "the program exists with another zone or lifetime");
    },
  );
  deps.background(() => deps.workflows.ensureMonthEnd(program));
  return { program, replayed: !isChanged };
}

/**
 * Lengthens a program's lifetime, which takes effect in two minutes, and sets at once what the
 * members are notified of and the rules for bulk grants. Whatever is absent stays as it is. An
 * update that changes nothing is accepted with any etag, so that it can be sent again after a lost
 * answer. Refusals, which change nothing: PROGRAM_NOT_FOUND, ETAG_MISMATCH for an etag, if it is
 * not empty, that is not the present one, WRONG_STATE for a shorter lifetime, INVALID_REQUEST as
 * `setBulkRules`.
 */
export async function updateProgram(
  deps: Pick<Deps, "engine" | "reader" | "workflows" | "background">,
  input: {
    readonly programId: string;
    readonly lifetimeMonths?: number | undefined;
    readonly notices?: ProgramNotices | undefined;
    readonly bulkRules?: BulkRules | undefined;
    readonly etag?: string;
    readonly deadline: number | undefined;
  },
): Promise<Program> {
  const { programId, notices, bulkRules, etag = "" } = input;
  const changed = await changeProgram(deps, input, (program, { calendar }) => {
    const newest = newestLifetime(program).lifetimeMonths;
    const { lifetimeMonths = newest } = input;
    const notifying = notices ? setNotices(program, notices) : program;
    const ruled = bulkRules ? setBulkRules(notifying, bulkRules) : notifying;
    if (ruled === program && lifetimeMonths === newest) return program;
    requireEtag(etag, programEtag(program));
    return lengthen(ruled, lifetimeMonths, calendar);
  });
  if (notices) {
    // Reads the program again, because a task that is retried may come after a later update.
    deps.background(async () =>
      deps.workflows.ensureExpiryNotices(await getProgram(deps, programId)),
    );
  }
  return changed;
}
