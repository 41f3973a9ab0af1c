/** The workflow of a job over all accounts of a program, which is the same for all kinds. */
import {
  continueAsNew,
  defineQuery,
  proxyActivities,
  setHandler,
  sleep,
} from "@temporalio/workflow";
import type { Activities } from "../../activities/index.ts";
import { escapeMarkdown } from "../../src/platform/words/markdown.ts";
import { exportKind } from "../../src/points/contract/exports.ts";
import {
  type JobKind,
  type JobRunInput,
  jobHowToEnd,
  jobQuery,
} from "../../src/points/contract/jobs.ts";
import { liabilityKind } from "../../src/points/contract/liability-reports.ts";
import type { SegmentLeft } from "../../src/points/contract/payloads.ts";
import { verificationKind } from "../../src/points/contract/verifications.ts";
import type { JobRequest } from "../../src/points/rules/jobs.ts";
import { showDetails } from "../details.ts";
import { unwrapRefusal } from "../failures.ts";
import { requireFields } from "../inputs.ts";
import { sweep } from "../sweep.ts";
import { jobTiming } from "../timing.ts";

/** Returns the sum so far. */
const sumSoFar = defineQuery<object>(jobQuery);

const { beginJob, finishJob, storeFileList } = proxyActivities<Activities>(jobTiming.whole);
const { sweepSegment } = proxyActivities<Activities>(jobTiming.segment);

/**
 * Makes the workflow of a kind: it adds up the accounts segment by segment, and keeps the sum in
 * the record of the job. May run twice. A file belongs to the job by the answer of its step that
 * the history has, so that an attempt that was repeated, or goes on after its time, adds no second
 * one.
 */
export function jobWorkflow(kind: JobKind) {
  return async (input: JobRunInput): Promise<object> => {
    requireFields(input, { program_id: "string", job_id: "string" });
    const { so_far, program_id, job_id } = input;
    const name = { kind: kind.name, program_id, job_id };
    let total = so_far?.sum ?? kind.nothing;
    setHandler(sumSoFar, () => total);
    let request = so_far?.request;
    if (request === undefined) {
      showDetails(jobHowToEnd, beginning);
      const begun = await unwrapRefusal(beginJob(name));
      ({ request } = begun);
      if (begun.complete) {
        showDetails(jobHowToEnd, "It was complete already.");
        return begun.complete;
      }
      if (kind.waitsForEntries) {
        showDetails(jobHowToEnd, waiting);
        await sleep(jobTiming.lateEntriesMs);
      }
    }
    const asked = request as JobRequest;
    const sentence = () => escapeMarkdown(kind.sentence(total, asked));
    const files: object[] = [];
    let list = so_far?.list;
    const { sum, left } = await sweep(
      { sum: total, left: so_far?.left ?? segmentsOf(kind) },
      kind.segments,
      async (part) => {
        const { segments } = kind;
        const step = await sweepSegment({ ...name, segments, ...part });
        if (step.file) files.push(step.file);
        return { ...step.sum, cursor: step.cursor };
      },
      (sum) => {
        total = sum;
        showDetails(jobHowToEnd, sentence());
      },
    );
    if (left.length > 0) {
      if (files.length > 0) {
        ({ list } = await unwrapRefusal(storeFileList({ ...name, files, list })));
      }
      const so_far = { request, sum, list, left };
      await continueAsNew<(input: JobRunInput) => Promise<object>>({ program_id, job_id, so_far });
    }
    const { text } = await unwrapRefusal(finishJob({ ...name, sum, files, list }));
    showDetails(jobHowToEnd, [sentence(), ...(text ? [text] : [])].join("\n\n"));
    return sum;
  };
}

const segmentsOf = ({ segments }: JobKind): SegmentLeft[] =>
  Array.from({ length: segments }, (_, segment) => ({ segment }));

const beginning =
  "Reads what was asked for, and opens the destination of an export. While this is shown, the " +
  "pending activity has what fails; it is tried again until it succeeds.";

const waiting =
  "Waits until no entry of the instant of the call can be added any more, " +
  `${jobTiming.lateEntriesMs / 60_000} minutes. Then the accounts are read, ` +
  "in turn with other jobs of this kind of the program.";

export const verifyProgram = jobWorkflow(verificationKind);
export const liabilityReport = jobWorkflow(liabilityKind);
export const exportLedger = jobWorkflow(exportKind);
