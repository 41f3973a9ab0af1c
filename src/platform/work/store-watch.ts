/** Logs when the store begins to hang, throttle or refuse, and for how long when it is back. */

import type { Logger } from "../observe/log.ts";
import type { Deps } from "../ports/deps.ts";
import type { StoreRefusal } from "../ports/store-refusals.ts";
import { maxSilenceMs } from "../ports/store-silence.ts";
import type { Milliseconds } from "../words/units.ts";

interface StoreDeps extends Pick<Deps, "storeSilenceMs" | "storeRefusals"> {
  readonly tallies: Pick<Deps["tallies"], "store">;
}

const checkMs = 1_000;

/** After so long without a throttled request the store is back: below its limit it still dips. */
const calmMs = 10_000;

/** The log messages of one kind of trouble. */
interface Texts {
  readonly begins: string;
  readonly ends: string;
}

const silence: Texts = { begins: "the store gives no answer", ends: "the store answers again" };
const throttling: Texts = {
  begins: "the store throttles requests",
  ends: "the store throttles no longer",
};

/** Watches the store until it is closed. */
export function watchStore(deps: StoreDeps, log: Logger): { close(): void } {
  const check = createStoreCheck(deps, log);
  const timer = setInterval(() => void check(performance.now()), checkMs).unref();
  return { close: () => clearInterval(timer) };
}

/** Returns the check, which gets the present time in ms. */
export function createStoreCheck(deps: StoreDeps, log: Logger) {
  const { storeSilenceMs, storeRefusals, tallies } = deps;
  const noteSilence = createTrouble(silence, log);
  const noteThrottling = createTrouble(throttling, log);
  const noteRefusals = createRefusalLog(log);
  let known = { answered: 0, throttled: 0, unanswered: 0 };
  let throttledAt = Number.NEGATIVE_INFINITY;
  return async (now: Milliseconds): Promise<void> => {
    const results = await resultsOf(tallies);
    const isMore = (name: keyof typeof results) => results[name] > known[name];
    const isSilent = storeSilenceMs() >= maxSilenceMs;
    // A store that refuses connections is away, though no request waits for it.
    if (isSilent || (isMore("unanswered") && !isMore("answered"))) noteSilence(true, now);
    else if (isMore("answered")) noteSilence(false, now);
    if (isMore("throttled")) throttledAt = now;
    noteThrottling(now - throttledAt < calmMs, now);
    noteRefusals(storeRefusals(), now);
    known = results;
  };
}

/** Logs the begin and the end of a trouble once each. */
function createTrouble({ begins, ends }: Texts, log: Logger) {
  let since: Milliseconds | undefined;
  return (isThere: boolean, now: Milliseconds): void => {
    if (isThere && since === undefined) {
      since = now;
      log.warn(begins);
    } else if (!isThere && since !== undefined) {
      log.info({ ms: Math.round(now - since) }, ends);
      since = undefined;
    }
  };
}

/** Logs each kind of request that is refused, once, and when it is no longer. */
function createRefusalLog(log: Logger) {
  const since = new Map<string, { readonly fields: object; readonly time: Milliseconds }>();
  return (refusals: readonly StoreRefusal[], now: Milliseconds): void => {
    const present = new Map<string, StoreRefusal>();
    for (const refusal of refusals) {
      present.set(`${refusal.code} ${refusal.operation} ${refusal.resource}`, refusal);
    }
    for (const [key, { code, operation, resource: table, text }] of present) {
      if (since.has(key)) continue;
      const fields = { code, operation, table };
      since.set(key, { fields, time: now });
      log.error({ ...fields, text }, "the store refuses requests");
    }
    for (const [key, { fields, time }] of since) {
      if (present.has(key)) continue;
      since.delete(key);
      log.info({ ...fields, ms: Math.round(now - time) }, "the store refuses them no longer");
    }
  };
}

/** How many attempts the store has answered, throttled, and not answered. */
async function resultsOf({ store }: StoreDeps["tallies"]) {
  const results = { answered: 0, throttled: 0, unanswered: 0 };
  for (const { labels, value: count } of (await store.requests.get()).values) {
    const isAnswer = labels.result !== "unanswered" && labels.result !== "failed";
    results[isAnswer ? "answered" : "unanswered"] += count;
    if (labels.result === "throttled") results.throttled += count;
  }
  return results;
}
