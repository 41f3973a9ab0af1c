/** The failure of a check of the doctor. */

/** Says what is wrong, and what to do about it. */
export class CheckFailed extends Error {
  override readonly name = "CheckFailed";
  readonly advice: string;

  constructor(message: string, advice: string) {
    super(message);
    this.advice = advice;
  }
}
