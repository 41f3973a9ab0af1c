/**
 * Temporal in memory, for models in virtual time: it runs the project's own workflows and retries
 * their activities. Tests replace the module `@temporalio/workflow` by this one.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import {
  ActivityFailure,
  type ActivityOptions,
  ApplicationFailure,
  CancelledFailure,
  RetryState,
} from "@temporalio/common";
import { msToNumber } from "@temporalio/common/lib/time.js";

/** One attempt at an activity, as a worker gets it. */
export interface ActivityTask {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly workflowId: string;
  readonly attempt: number;
  /** Of the last heartbeat of the attempts before. */
  readonly heartbeatDetails: unknown;
  /** Sends a heartbeat. Temporal gives an attempt up that has sent none for too long. */
  readonly heartbeat: (details: unknown) => void;
}

/** Executes the attempts; a promise that never settles is a worker that was killed. */
export type Worker = (task: ActivityTask) => Promise<unknown>;

type Workflow = (input: never) => Promise<unknown>;

type Handler = (...args: never[]) => unknown;

/** A run of a workflow. */
class Run {
  readonly startTime = new Date();
  readonly runId = randomUUID();
  readonly handlers = new Map<string, Handler>();
  readonly waits = new Set<() => void>();
  readonly cancellation = Promise.withResolvers<never>();
  openHandlers = 0;
  activities = 0;
  /** A terminated run gets no answers any more; its attempts go on. */
  isOver = false;
  readonly temporal: MemoryTemporal;
  readonly id: string;
  /** The id of the run that has continued as this one. */
  readonly continuedFrom: string | undefined;

  constructor(temporal: MemoryTemporal, id: string, continuedFrom: string | undefined) {
    this.temporal = temporal;
    this.id = id;
    this.continuedFrom = continuedFrom;
    this.cancellation.promise.catch(() => undefined);
  }

  wake(): void {
    for (const check of this.waits) check();
  }

  /** Calls a handler of the run, then lets the run look at what it has changed. */
  async handle(name: string, ...args: unknown[]): Promise<void> {
    this.openHandlers += 1;
    try {
      await runs.run(this, () => this.handlers.get(name)?.(...(args as never[])));
    } finally {
      this.openHandlers -= 1;
      this.wake();
    }
  }
}

const runs = new AsyncLocalStorage<Run>();

/** The id of the run in which this code, or the activity that it is part of, was started. */
export const currentRun = (): Run | undefined => runs.getStore();

function current(): Run {
  const run = runs.getStore();
  if (!run) throw new Error("this code is outside of a workflow");
  return run;
}

/** Ends a run, which continues with another input. */
class ContinuedAsNew extends Error {
  readonly input: unknown;

  constructor(input: unknown) {
    super("continued as new");
    this.input = input;
  }
}

const never = new Promise<never>(() => undefined);

export class MemoryTemporal {
  readonly #runs = new Map<string, Run>();
  readonly #worker: Worker;
  /** A run continues as new after so many activities. */
  readonly #longAfter: number;

  constructor(worker: Worker, longAfter: number) {
    this.#worker = worker;
    this.#longAfter = longAfter;
  }

  get running(): readonly string[] {
    return [...this.#runs.keys()];
  }

  /** Starts a run, unless one of this id is running. Resolves with its result. */
  start(id: string, workflow: Workflow, input: unknown): Promise<unknown> {
    if (this.#runs.has(id)) return Promise.resolve();
    return this.#play(id, workflow, input);
  }

  signal(id: string, name: string): void {
    void this.#runs.get(id)?.handle(name);
  }

  /** Requests the cancellation of a run. */
  cancel(id: string): void {
    const run = this.#runs.get(id);
    run?.cancellation.reject(new CancelledFailure("cancelled"));
    setTimeout(() => run?.wake(), 1);
  }

  terminate(id: string): void {
    const run = this.#runs.get(id);
    if (!run) return;
    run.isOver = true;
    this.#runs.delete(id);
  }

  async #play(id: string, workflow: Workflow, first: unknown): Promise<unknown> {
    let continuedFrom: string | undefined;
    for (let input = first; ; ) {
      const run = new Run(this, id, continuedFrom);
      this.#runs.set(id, run);
      try {
        return await runs.run(run, () => workflow(input as never));
      } catch (error) {
        if (!(error instanceof ContinuedAsNew)) throw error;
        input = error.input;
        continuedFrom = run.runId;
      } finally {
        run.isOver = true;
        if (this.#runs.get(id) === run) this.#runs.delete(id);
      }
    }
  }

  isLong = ({ activities }: Run): boolean => activities >= this.#longAfter;

  /** Executes an activity until an attempt succeeds, is refused, or was the last one. */
  async execute(run: Run, options: ActivityOptions, name: string, args: readonly unknown[]) {
    const { initialInterval = 1_000, maximumInterval = 100_000 } = options.retry ?? {};
    const { backoffCoefficient = 2, maximumAttempts = Number.POSITIVE_INFINITY } =
      options.retry ?? {};
    let pause = msToNumber(initialInterval);
    let heartbeatDetails: unknown;
    run.activities += 1;
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt(options, (heartbeat) =>
        this.#worker({
          name,
          args,
          workflowId: run.id,
          attempt,
          heartbeatDetails,
          heartbeat(details) {
            heartbeatDetails = details ?? heartbeatDetails;
            heartbeat();
          },
        }),
      );
      if (run.isOver) return never;
      if ("result" in outcome) return outcome.result;
      const { failure } = outcome;
      const isRefused = failure instanceof ApplicationFailure && failure.nonRetryable;
      if (isRefused || attempt >= maximumAttempts) {
        const state = isRefused ? "NON_RETRYABLE_FAILURE" : "MAXIMUM_ATTEMPTS_REACHED";
        throw new ActivityFailure(
          `${name}: ${failure.message}`,
          name,
          name,
          RetryState[state],
          "",
          failure,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
      if (run.isOver) return never;
      pause = Math.min(pause * backoffCoefficient, msToNumber(maximumInterval));
    }
  }

  /** Returns the outcome of an attempt, or a failure when Temporal gives it up. */
  async #attempt(
    { startToCloseTimeout = 3_600_000, heartbeatTimeout }: ActivityOptions,
    work: (heartbeat: () => void) => Promise<unknown>,
  ): Promise<{ readonly result: unknown } | { readonly failure: Error }> {
    return new Promise((resolve) => {
      const giveUp = () => resolve({ failure: new Error("the attempt timed out") });
      const silence = () => heartbeatTimeout && setTimeout(giveUp, msToNumber(heartbeatTimeout));
      const limit = setTimeout(giveUp, msToNumber(startToCloseTimeout));
      let timer = silence();
      const heartbeat = () => {
        clearTimeout(timer);
        timer = silence();
      };
      work(heartbeat)
        .then(
          (result) => resolve({ result }),
          (failure: Error) => resolve({ failure }),
        )
        .finally(() => {
          clearTimeout(limit);
          clearTimeout(timer);
        });
    });
  }
}

// What workflows import.

export const workflowInfo = () => {
  const run = current();
  return {
    startTime: run.startTime,
    taskQueue: "models",
    continuedFromExecutionRunId: run.continuedFrom,
    continueAsNewSuggested: run.temporal.isLong(run),
    typedSearchAttributes: { get: () => undefined },
  };
};

export const proxyActivities = (options: ActivityOptions) =>
  new Proxy(
    {},
    {
      get(_, name: string) {
        const execute = (args: readonly unknown[]) => {
          const run = current();
          return run.temporal.execute(run, options, name, args);
        };
        const activity = (...args: unknown[]) => execute(args);
        return Object.assign(activity, {
          executeWithOptions: (_: unknown, args: readonly unknown[]) => execute(args),
        });
      },
    },
  );

export const CancellationScope = {
  current: () => ({ cancelRequested: current().cancellation.promise }),
  nonCancellable: <T>(work: () => Promise<T>): Promise<T> => work(),
};

export async function continueAsNew(input: unknown): Promise<never> {
  throw new ContinuedAsNew(input);
}

export async function sleep(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

/** Waits until `isTrue`; with `ms` at most so long, and returns whether it is. */
export function condition(isTrue: () => boolean, ms?: number): Promise<boolean> {
  const run = current();
  const { waits } = run;
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    const end = (value: boolean) => {
      clearTimeout(timer);
      waits.delete(check);
      resolve(value);
    };
    const check = () => {
      if (runs.run(run, isTrue)) end(true);
    };
    if (ms !== undefined) timer = setTimeout(() => end(isTrue()), ms);
    waits.add(check);
    check();
  });
}

export const allHandlersFinished = (): boolean => current().openHandlers === 0;

const define = (name: string) => ({ name });

export { define as defineQuery, define as defineSignal, define as defineUpdate };

export function setHandler({ name }: { readonly name: string }, handler: Handler): void {
  current().handlers.set(name, handler);
}

export const setCurrentDetails = (): void => undefined;
export const upsertSearchAttributes = (): void => undefined;
export const upsertMemo = (): void => undefined;

export const isCancellation = (error: unknown): boolean =>
  error instanceof CancelledFailure ||
  (error instanceof ActivityFailure && error.cause instanceof CancelledFailure);
