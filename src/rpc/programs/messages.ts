/** Maps programs to messages. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Instant } from "../../domain/month.ts";
import { lifetimeAt, type Program } from "../../domain/program.ts";
import type { ProgramSchema } from "../../gen/meguri/programs/v1/program_pb.ts";
import { fromInstant } from "../server/scalars.ts";

/** The message of a program, with the lifetime in force at `now`. */
export function fromProgram(
  program: Program,
  now: Instant,
): MessageInitShape<typeof ProgramSchema> {
  const { programId, timeZone, lifetimes, createTime, reservationPause: pause, notices } = program;
  return {
    programId,
    timeZone,
    lifetimeMonths: lifetimeAt(program, now),
    lifetimeChanges: lifetimes.map(({ lifetimeMonths, effectiveTime }, i) => ({
      lifetimeMonths,
      effectiveTime: fromInstant(i === 0 ? createTime : effectiveTime),
    })),
    createTime: fromInstant(createTime),
    ...(pause && { reservationPause: { ...pause, time: fromInstant(pause.time) } }),
    ...(notices && { notices }),
  };
}
