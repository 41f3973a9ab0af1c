/** Ends work that reads page by page at its caller's deadline. */
import { DomainError } from "../words/errors.ts";

/** Throws DEADLINE once `deadline` has passed, in `performance.now()` milliseconds. */
export function requireTime(deadline: number | undefined): void {
  if (deadline === undefined || performance.now() < deadline) return;
  throw new DomainError("DEADLINE", "the deadline passed before everything was read");
}
