/** Processes of the stack, which faults kill, stop and start again at the same address. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Child } from "../dev/stack/child.ts";
import type { Faults } from "./faults.ts";

/** The members of a child process that the faults need. */
type Running = Pick<Child, "killHard" | "stop" | "exited"> & {
  readonly pid: number;
  readonly lastOutput?: Child["lastOutput"];
};

export interface Process {
  readonly faults: Faults[string];
  /** Lets it end its work: SIGTERM. */
  stop(): Promise<void>;
  /** SIGKILL. Nothing starts it again. */
  kill(): Promise<void>;
}

/** Gets the unexpected ends and failed starts of processes. */
export interface Observer {
  /** An end that no fault has caused. The process is started again. */
  onEnd(what: string): void;
  /** A start that failed. It is tried again. */
  onRetry(what: string): void;
  /** The process has ended for good, so that the run shows nothing any more. */
  onLost(error: Error): void;
}

interface Options {
  /** False: it is lost when it ends by itself. */
  readonly startsAgain?: boolean;
  /** Between two starts of a process that does not become ready, as a supervisor waits. */
  readonly retryMs?: number;
  /** A start that fails later than this after the first one is the last. */
  readonly giveUpMs?: number;
}

/** Outages of the store and of Temporal, also one that is started again, are shorter. */
const defaultGiveUpMs = 90_000;

/** Starts a process, and starts it again when it ends by itself. */
export async function startProcess(
  name: string,
  start: () => Promise<Running>,
  observer: Observer,
  options: Options = {},
): Promise<Process> {
  const { startsAgain = true, retryMs = 500, giveUpMs = defaultGiveUpMs } = options;
  const over = new AbortController();
  const isOver = () => over.signal.aborted;
  /** The processes whose end is expected. */
  const killed = new WeakSet<Running>();
  let running = await start();
  let restarting: Promise<void> | undefined;
  watch(running);

  function watch(child: Running): void {
    running = child;
    void child.exited.then((why) => {
      if (isOver() || killed.has(child)) return;
      const what = `${name} ended by itself: ${why}\n${child.lastOutput?.() ?? ""}`.trim();
      if (!startsAgain) return observer.onLost(new Error(what));
      observer.onEnd(what);
      void restart();
    });
  }

  /** Starts it until it is ready, once at a time: two processes would want the same port. */
  function restart(): Promise<void> {
    restarting ??= startAgain();
    return restarting;
  }

  async function startAgain(): Promise<void> {
    const child = await startUntilReady(name, start, observer, {
      ...{ retryMs, giveUpMs },
      over: over.signal,
    });
    // Before the child is watched: one that has ended meanwhile is started again, too.
    restarting = undefined;
    if (child) watch(child);
    // The end of the run has killed the process before this one.
    if (isOver()) await child?.killHard();
  }

  const signal = (name: NodeJS.Signals) => {
    try {
      if (!isOver()) process.kill(running.pid, name);
    } catch {
      // It has ended by itself, which is reported.
    }
  };
  return {
    faults: {
      async killed() {
        // One that has ended by itself is killed when it runs again.
        await restarting;
        killed.add(running);
        await running.killHard();
        return restart;
      },
      async stopped() {
        signal("SIGSTOP");
        return async () => signal("SIGCONT");
      },
    },
    async stop() {
      over.abort();
      await running.stop();
    },
    async kill() {
      over.abort();
      await running.killHard();
    },
  };
}

/**
 * Starts a process until it is ready: it may end at once while the store or Temporal is away.
 * Returns undefined when it is lost, or the run is over.
 */
async function startUntilReady(
  name: string,
  start: () => Promise<Running>,
  { onRetry, onLost }: Observer,
  limits: { readonly retryMs: number; readonly giveUpMs: number; readonly over: AbortSignal },
): Promise<Running | undefined> {
  const { retryMs, giveUpMs, over } = limits;
  const first = performance.now();
  while (!over.aborted) {
    try {
      return await start();
    } catch (error) {
      if (over.aborted) return undefined;
      const why = error instanceof Error ? error.message : String(error);
      const seconds = (performance.now() - first) / 1_000;
      if (seconds * 1_000 > giveUpMs) {
        onLost(new Error(`${name} was not ready again in ${seconds.toFixed()} s: ${why}`));
        return undefined;
      }
      onRetry(`${name} is started once more: ${why.split("\n")[0]}`);
      await sleep(retryMs, undefined, { signal: over }).catch(() => {});
    }
  }
  return undefined;
}
