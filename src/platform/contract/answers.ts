/** The seals by which a workflow distinguishes a worker's answer from an operator's. */
import { shortHash } from "./short-hash.ts";

/** The header of an activity that has its key. */
export const activityKeyHeader = "activity_key";

/** The failure type of an activity whose answer no worker has given. */
export const foreignAnswer = "FOREIGN_ANSWER";

/** The result of an activity, as a history contains it. */
interface SealedAnswer {
  /** Absent for an activity that returns nothing. */
  readonly answer?: unknown;
  readonly seal: string;
}

/**
 * Returns an answer with its seal, a digest of the key of the activity and of the answer. The key
 * names one activity of one run.
 */
export const sealed = (key: string, answer: unknown): SealedAnswer => ({
  answer,
  seal: sealOf(key, answer),
});

/** Returns whether the result of the activity with this key has its seal. */
export function isSealed(key: string, result: unknown): result is SealedAnswer {
  const { answer, seal } = (result ?? {}) as Partial<SealedAnswer>;
  return seal === sealOf(key, answer);
}

/** A hash without a secret protects against mistakes only, so a short one is enough. */
const sealOf = (key: string, answer: unknown): string =>
  shortHash(`${key} ${JSON.stringify(answer)}`);
