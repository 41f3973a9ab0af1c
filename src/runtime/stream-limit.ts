/** How long server streams stay open. */
import { withJitter } from "./jitter.ts";

const limitMs = 30 * 60_000;
const limitJitter = 0.1;

/**
 * Returns after how many ms a stream ends: about 30 minutes, so that streams spread over new
 * servers, too; with a jitter, so that streams that began together end apart.
 */
export const streamLimitMs = (): number => withJitter(limitMs, limitJitter);
