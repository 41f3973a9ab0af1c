/** The payloads of jobs, month ends and notices: what their activities get. */
import { z } from "zod";
import {
  id,
  listOf,
  month,
  payload,
  programId,
  text,
  whole,
} from "../../platform/contract/payloads.ts";

const program = { program_id: programId };

/** Names a program: the input of the activities that read which month it is about. */
export const programInput = payload(program);
export type ProgramInput = z.input<typeof programInput>;

/** One shard of a program's expiry index. Without a cursor from its start. */
const shard = { shard: whole, cursor: text.optional() };

/** Expires what is due in the accounts of a shard. */
export const expireShardInput = payload({ ...program, ...shard });

/** A shard that is left, and where it continues. */
export type ShardLeft = Omit<z.input<typeof expireShardInput>, "program_id">;

/** Keeps that a month end is done, in which so many accounts have failed. */
export const monthEndRecord = payload({ ...program, month, failed: whole });

/** Notifies the owners of the accounts of a shard. */
export const notifyShardInput = payload({ ...program, month, ...shard });

const jobStep = { ...program, job_id: id, kind: text };

/** Names a job. */
export const jobStepInput = payload(jobStep);
export type JobStepInput = z.input<typeof jobStepInput>;

/** Reads the accounts of one of `segments` segments of the table, for one step. */
export const jobSegmentInput = payload({
  ...jobStep,
  segment: whole,
  /** Absent at the start of the segment. */
  cursor: text.optional(),
  segments: whole,
});

/** A segment of the table that is left, and where it continues. */
export type SegmentLeft = Pick<z.input<typeof jobSegmentInput>, "segment" | "cursor">;

/** A sum or a file, whose fields are those of the kind of the job. */
const ofKind = z.custom<object>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  "must be an object",
);

const jobFiles = { files: listOf(ofKind), list: text.optional() };

/** Stores a list of files: those of a run. `list` names the one of the runs before it. */
export const jobFileList = payload({ ...jobStep, ...jobFiles });

/** Keeps the result of a job. */
export const jobEnd = payload({ ...jobStep, sum: ofKind, ...jobFiles });
export type JobEnd = z.input<typeof jobEnd>;
