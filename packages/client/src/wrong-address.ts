/** The error of an address that is another port than the client needs, or has the wrong scheme. */

/** Says that no call can succeed at an address; the cause of the error that callers get. */
export class WrongAddress extends Error {
  override readonly name = "WrongAddress";
}

/** Whether a call failed because the address is wrong: it would fail again in the same way. */
export const isWrongAddress = (error: unknown): boolean =>
  error instanceof Error && error.cause instanceof WrongAddress;
