/** Whether a worker can do its work now: its state, its polls and its Temporal. */
import type { ServerStates } from "../app/ports/server-states.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Answer } from "../probes/listener.ts";

/** A Temporal that was not reached for longer makes the worker not ready. */
const defaultLimitMs = 60_000;

/** As the SDK names them in its metrics. */
type TaskType = "workflow_task" | "activity_task";

interface ReadinessDeps {
  readonly states: Pick<ServerStates, "current">;
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
  const { states, queues, readSdkMetrics } = deps;
  return async () => {
    const isPolled = pollsIn(await readSdkMetrics().catch(() => ""));
    const problems: [string, string | false][] = [
      ["worker", states.current !== "SERVING" && states.current.toLowerCase()],
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
 * Tells whether the SDK has polls under way for a type of tasks of a queue. It counts a poll until
 * its answer, and sends it again while Temporal is away.
 */
function pollsIn(sdkMetrics: string): (queue: string, type: string) => boolean {
  const samples = sdkMetrics.matchAll(/^temporal_num_pollers\{(.*)\} (\d+)$/gm);
  const polled = [...samples]
    .filter(([, , count]) => Number(count) > 0)
    .map(([, labels]) => labels);
  return (queue, type) =>
    polled.some(
      (labels = "") =>
        labels.includes(`task_queue="${queue}"`) && labels.includes(`poller_type="${type}"`),
    );
}
