/** When a store that takes requests and answers none is the reason why a call ends. */
import type { Milliseconds } from "../words/units.ts";

/** How long a call waits for a store that is silent (docs/decisions/0005). */
export const maxSilenceMs = 2_750;

/** At the end of a call, a silence of a quarter of its time is the reason, within these bounds. */
const leastMs = 100;
const mostMs = 500;

/** Whether a silence of this time ends a call. `callMs` is the time of a call that ends anyway. */
export const isSilent = (silenceMs: Milliseconds, callMs?: Milliseconds): boolean =>
  silenceMs >=
  (callMs === undefined ? maxSilenceMs : Math.min(mostMs, Math.max(leastMs, callMs / 4)));
