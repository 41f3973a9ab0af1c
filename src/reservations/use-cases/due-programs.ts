/** Finds the programs of which sweeps read what is due, and keeps their due hours. */

import { type DueHour, dueHourShardCount } from "../../due/ports/due.ts";
import { dueHourRef } from "../../due/ports/records.ts";
import { allPages } from "../../platform/ports/pages.ts";
import type { Instant } from "../../platform/words/month.ts";
import { changeRecord } from "../../platform/work/change-record.ts";
import { isStoreOutage } from "../../platform/work/unconfirmed-failures.ts";
import { programRef } from "../../points/ports/records.ts";
import type { Program, ShardedProgram } from "../../points/rules/program.ts";
import { readAllPrograms } from "../../points/use-cases/programs/queries.ts";
import type { Deps } from "../ports/deps.ts";
import { hasDue } from "./all-reservations.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const minutesPerDay = 24 * 60;

const pageSize = 1_000;

type OnFailed = (programId: string, error: unknown) => void;

/** Records whose hour is marked are written within this time, whatever their process's clock. */
const graceMs = 5 * minuteMs;

/** The minutes a day in which a program is read: longer than the pauses between most passes. */
const turnMinutes = 10;

/** The minutes between two programs: a prime, so that the programs are spread over the day. */
const apartMinutes = 61;

/**
 * Returns the programs that have something due in an hour that has begun at `until`, by id. While
 * hours cannot be read, it returns all programs.
 */
export async function dueProgramIds(
  { reader }: Pick<Deps, "reader">,
  until: Instant,
): Promise<string[]> {
  const due = await readDueHours(reader, until).catch((error) => {
    if (isStoreOutage(error)) throw error;
    return readAllPrograms({ reader });
  });
  return [...new Set(due.map(({ programId }) => programId))].sort();
}

/**
 * Writes the current hour of the programs that have something due, once a day for each program: for
 * records whose hour was lost, such as those of a table that was restored.
 */
export async function restoreDueHours(
  { reader, clock, dueHours }: Pick<Deps, "reader" | "clock" | "dueHours">,
  programs: readonly Program[],
  onFailed: OnFailed,
): Promise<void> {
  const { wall } = await clock.now();
  const minute = Math.floor(wall / minuteMs);
  const hasTurn = (i: number) => (minute + apartMinutes * i) % minutesPerDay < turnMinutes;
  for (const program of programs.filter((_, i) => hasTurn(i))) {
    const { programId } = program;
    try {
      const isDue = await hasDue({ reader }, program, wall).catch((error) => {
        onFailed(programId, error);
        // Other records of the program may be readable and due.
        return !isStoreOutage(error);
      });
      if (isDue) await dueHours.mark(programId, wall, undefined);
    } catch (error) {
      onFailed(programId, error);
    }
  }
}

/**
 * Deletes the hours that have ended and in which nothing is left to be done. A program that is
 * paused, or has something left, keeps the latest one, by which it is read. One that fails is left
 * to the next pass.
 */
export async function endDueHours(
  { engine, reader, clock }: Pick<Deps, "engine" | "reader" | "clock">,
  onFailed: OnFailed,
): Promise<void> {
  const { wall } = await clock.now();
  const ended = Map.groupBy(
    await readDueHours(reader, wall - hourMs - graceMs),
    ({ programId }) => programId,
  );
  const programs = await reader.many([...ended.keys()].map(programRef));
  for (const [i, [programId, hours]] of [...ended].entries()) {
    try {
      const last = Math.max(...hours.map(({ hour }) => hour));
      const program: ShardedProgram & Partial<Program> = programs[i] ?? { programId };
      const isPaused = program.reservationPause !== undefined;
      const isLeft = isPaused || (await hasDue({ reader }, program, last + hourMs));
      for (const each of hours) {
        if (isLeft && each.hour === last) continue;
        await changeRecord({ engine }, { ref: dueHourRef(each) }, () => undefined);
      }
    } catch (error) {
      onFailed(programId, error);
    }
  }
}

/** Reads the due hours that have begun at `until`. */
async function readDueHours(reader: Deps["reader"], until: Instant): Promise<DueHour[]> {
  const ofShard = async (shard: number) => {
    const hours: DueHour[] = [];
    for await (const page of allPages(pageSize, (each) => reader.dueHours(shard, until, each)))
      hours.push(...page);
    return hours;
  };
  const shards = Array.from({ length: dueHourShardCount }, (_, shard) => ofShard(shard));
  return (await Promise.all(shards)).flat();
}
