/** The form of a check, and what its failure says. */

/** Says what is wrong, and what to do about it. */
export class CheckFailed extends Error {
  override readonly name = "CheckFailed";
  readonly advice: string;

  constructor(message: string, advice: string) {
    super(message);
    this.advice = advice;
  }
}

export interface Check {
  readonly name: string;
  /** Returns what was found. Throws CheckFailed. */
  run(): Promise<string>;
}

/** No server decides with a clock that is off by more than this. */
export const clockToleranceMs = 5_000;
