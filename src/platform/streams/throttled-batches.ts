/** When the items of a throttled batch, which fails as a whole, are read one by one. */
import { DomainError } from "../words/errors.ts";

/** How many items of a batch are throttled alone until the batch counts as throttled as a whole. */
export const maxThrottled = 3;

export const isThrottled = (error: unknown): boolean =>
  error instanceof DomainError && error.reason === "THROTTLED";
