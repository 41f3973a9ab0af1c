/** Whether a worker can do its work now: its state, its store, its Temporal and its polls. */
import type { ServerStates } from "../platform/ports/server-states.ts";
import type { Answer } from "../platform/probes/listener.ts";
import type { Milliseconds } from "../platform/words/units.ts";

/** A Temporal that was not reached for longer makes the worker not ready. */
const defaultLimitMs = 60_000;

/** As the SDK names them in its metrics. */
type TaskType = "workflow_task" | "activity_task";

/** As it names them where it counts slots. */
const workerTypes: Readonly<Record<TaskType, string>> = {
  workflow_task: "WorkflowWorker",
  activity_task: "ActivityWorker",
};

interface ReadinessDeps {
  readonly states: Pick<ServerStates, "current">;
  /** The problem of the store, if it has one. */
  readonly storeProblem: () => Promise<string | undefined>;
  /** The types of tasks that the worker polls for, by task queue. */
  readonly queues: Readonly<Record<string, readonly TaskType[]>>;
  /** In Prometheus' text format. */
  readonly readSdkMetrics: () => Promise<string>;
  /** For how long Temporal was not reached; undefined if it never was. */
  readonly silenceMs: () => Milliseconds | undefined;
  readonly limitMs?: Milliseconds;
}

/** Returns the page `/readyz`: 200 if all checks pass, else 503, with one line for each check. */
export function createWorkerReadiness(deps: ReadinessDeps): () => Promise<Answer> {
  const { states, storeProblem, queues, readSdkMetrics } = deps;
  return async () => {
    const [sdkMetrics, store] = await Promise.all([
      readSdkMetrics().catch(() => ""),
      storeProblem(),
    ]);
    const isPolled = pollsIn(sdkMetrics);
    const problems: [string, string | false][] = [
      ["worker", states.current !== "SERVING" && states.current.toLowerCase()],
      ["store", store ?? false],
      ["temporal", silenceProblem(deps)],
    ];
    for (const [queue, types] of Object.entries(queues)) {
      const missing = types.filter((type) => !isPolled(queue, type));
      problems.push([`queue ${queue}`, missing.length > 0 && `no poll for ${missing.join(", ")}`]);
    }
    const isReady = problems.every(([, problem]) => problem === false);
    const lines = problems.map(([name, problem]) => `${name}: ${problem || "ok"}\n`);
    return { status: isReady ? 200 : 503, text: lines.join("") };
  };
}

function silenceProblem({ silenceMs, limitMs = defaultLimitMs }: ReadinessDeps): string | false {
  const silence = silenceMs();
  if (silence === undefined) return "not reached yet";
  return silence > limitMs && `not reached for ${Math.round(silence / 1_000)} s`;
}

/**
 * Whether the SDK polls for a type of tasks of a queue, or would if it had a free slot. It
 * counts a poll until its answer, and sends it again while Temporal is away. It takes the slot
 * before the poll, so a worker whose slots are all in use has no poll.
 */
function pollsIn(sdkMetrics: string): (queue: string, type: TaskType) => boolean {
  const polled = labelsOf("num_pollers", (count) => count > 0);
  const full = labelsOf("worker_task_slots_available", (count) => count === 0);

  function labelsOf(metric: string, isMeant: (count: number) => boolean): string[] {
    const samples = sdkMetrics.matchAll(new RegExp(`^temporal_${metric}\\{(.*)\\} (\\d+)$`, "gm"));
    return [...samples].filter(([, , n]) => isMeant(Number(n))).map(([, labels = ""]) => labels);
  }

  return (queue, type) => {
    const isOf = (label: string) => (labels: string) =>
      labels.includes(`task_queue="${queue}"`) && labels.includes(label);
    return (
      polled.some(isOf(`poller_type="${type}"`)) ||
      full.some(isOf(`worker_type="${workerTypes[type]}"`))
    );
  };
}
