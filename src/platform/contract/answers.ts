/** The seals by which a workflow distinguishes a worker's answer from an operator's. */

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

/**
 * FNV-1a of 64 bits, which needs no module that the sandbox of workflows lacks. It has no secret,
 * so a hash against which nobody can find a second answer would protect from nobody else.
 */
function sealOf(key: string, answer: unknown): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(`${key} ${JSON.stringify(answer)}`)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  }
  return hash.toString(16).padStart(16, "0");
}
