/** Whether a process can do its work now: its state, its store and its clock; a worker's store. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../observe/log.ts";
import type { Deps } from "../ports/deps.ts";
import { testClockRef } from "../ports/records.ts";
import type { ServerStates } from "../ports/server-states.ts";
import { storeRefuses } from "../ports/store-refusals.ts";
import { DomainError } from "../words/errors.ts";
import type { Answer } from "./listener.ts";

/** The time limit of one check. All of them together stay below 2 s. */
const limitMs = 900;

type StoreDeps = Pick<Deps, "reader" | "storeRefusals">;

interface ReadinessDeps {
  readonly deps: StoreDeps & Pick<Deps, "clock">;
  readonly states: Pick<ServerStates, "current">;
  readonly log: Logger;
  /** What the page calls the process. */
  readonly process?: "server" | "events";
}

/**
 * Returns the page `/readyz`: 200 if all checks pass, else 503, with one line for each check.
 * Requests that come while the checks run share their answer.
 */
export function createReadiness(deps: ReadinessDeps): () => Promise<Answer> {
  let running: Promise<Answer> | undefined;
  return () => {
    running ??= check(deps).finally(() => {
      running = undefined;
    });
    return running;
  };
}

async function check({ deps, states, log, process = "server" }: ReadinessDeps): Promise<Answer> {
  const { clock } = deps;
  const store = await storeProblem(deps, log);
  // After the store, whose answer shows the time by which the clock is judged.
  const off = await problemOf(() => clock.now(), log);
  const { current } = states;
  const state = current === "SERVING" ? undefined : current.toLowerCase();
  const problems = Object.entries({ [process]: state, store, clock: off });
  const isReady = problems.every(([, problem]) => problem === undefined);
  const lines = problems.map(([name, problem = "ok"]) => `${name}: ${problem}\n`);
  return { status: isReady ? 200 : 503, text: lines.join("") };
}

/**
 * The problem of the store: of one strongly consistent read of one item, which need not exist, or
 * else of what the store has lately refused to this process, such as writes for want of a right.
 */
export async function storeProblem(
  { reader, storeRefusals }: StoreDeps,
  log: Logger,
): Promise<string | undefined> {
  const ofRead = await problemOf(() => answerOf(reader.get(testClockRef)), log);
  const [refusal] = storeRefusals();
  return ofRead ?? (refusal && textOf(storeRefuses(refusal)));
}

/** Waits for the store. One that throttles this item answers, and may serve all others. */
async function answerOf(read: Promise<unknown>): Promise<void> {
  try {
    await read;
  } catch (error) {
    if (!(error instanceof DomainError && error.reason === "THROTTLED")) throw error;
  }
}

/** The problem of a check; undefined if it passes. The store's messages are only logged. */
async function problemOf(run: () => Promise<unknown>, log: Logger): Promise<string | undefined> {
  const timer = new AbortController();
  const timeIsUp = sleep(limitMs, `no answer within ${limitMs} ms`, timer);
  try {
    return await Promise.race([run().then(() => undefined), timeIsUp]);
  } catch (err) {
    if (err instanceof DomainError) return textOf(err);
    log.error({ err }, "a readiness check failed");
    return "failed; the log says why";
  } finally {
    timer.abort();
  }
}

/** The reason and the message, with the metadata that the message does not say. */
function textOf({ reason, message, metadata }: DomainError): string {
  const unsaid = Object.entries(metadata).filter(([, value]) => !message.includes(value));
  const details = unsaid.map(([name, value]) => `, ${name} ${value}`);
  return `${reason}: ${message}${details.join("")}`;
}
