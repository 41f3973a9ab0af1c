/** Processes of the stack, which faults kill, stop and start again at the same address. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Child } from "../../src/dev/stack/child.ts";
import type { Faults } from "./faults.ts";

/** What of a child the faults need. */
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

/** Between two starts of a process that does not become ready, as a supervisor waits. */
const retryMs = 500;

/** Starts a process. `onEnd` hears of an end that no fault has caused. */
export async function startProcess(
  name: string,
  start: () => Promise<Running>,
  onEnd: (what: string) => void,
): Promise<Process> {
  let isOver = false;
  /** Those whose end is no surprise. */
  const killed = new WeakSet<Running>();
  let running = await watched();

  /** Starts it, and starts it again when it ends by itself. */
  async function watched(): Promise<Running> {
    const child = await start();
    void child.exited.then(async (why) => {
      if (isOver || killed.has(child)) return;
      onEnd(`${name} ended by itself: ${why}\n${child.lastOutput?.() ?? ""}`.trim());
      await restart();
    });
    return child;
  }

  /** Starts it until it is ready: it may end at once while the store or Temporal is away. */
  async function restart(): Promise<void> {
    while (!isOver) {
      try {
        running = await watched();
        // A run that ended meanwhile has killed the process before.
        if (isOver) await running.killHard();
        return;
      } catch {
        await sleep(retryMs);
      }
    }
  }

  const signal = (name: NodeJS.Signals) => {
    try {
      if (!isOver) process.kill(running.pid, name);
    } catch {
      // It has ended by itself, which is reported.
    }
  };
  return {
    faults: {
      async killed() {
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
      isOver = true;
      await running.stop();
    },
    async kill() {
      isOver = true;
      await running.killHard();
    },
  };
}
