/**
 * How long workflows and activities wait: intervals, leads, back-offs, patience and timeouts. All
 * of them are in this file, so that tests can bundle the workflows with shorter ones.
 */
import { lateEntriesMs } from "../src/points/rules/ledger.ts";

/** An activity is tried until it succeeds or is refused. */
const retry = { initialInterval: "1 second", maximumInterval: "30 seconds" } as const;

/**
 * An activity in steps: a step takes `steps.limitMs` and sends heartbeats. After the death of a
 * worker, the next attempt continues from the last heartbeat.
 */
const inSteps = {
  startToCloseTimeout: "2 minutes",
  heartbeatTimeout: "15 seconds",
  retry,
} as const;

/** An activity that answers at once. */
const short = { startToCloseTimeout: "15 seconds", retry } as const;

/** The steps of activities on many records. */
export const steps = {
  /** A step returns its cursor after this time, so that the duration of an activity is bounded. */
  limitMs: 20_000,
  /** A step of an export makes a file, so it takes longer, and there are fewer of them. */
  exportMs: 60_000,
  /** A step is tried again after this time while another run of its kind reads the accounts. */
  scanLockedMs: 60_000,
  /** The interval of heartbeats, which is shorter than every heartbeat timeout. */
  heartbeatMs: 5_000,
  /** The SDK sends one of them in this time. A killed month-end sweep repeats its work at most. */
  sentMs: 2_000,
} as const;

/** The run of a reservation. */
export const reservationTiming = {
  /** The clocks of a server, of Temporal and of a worker differ by less than this. */
  leadSlackMs: 3_000,
  /**
   * How long an activity may take from the execute time on. After the death of its worker the next
   * attempt, which finds the grant of a sweep, begins before the reconciler terminates the run.
   */
  longestMs: 90_000,
  /** How long the run of a paused program waits at most before it reads the record again. */
  pausedMs: 600_000,
  grantWhenDue: {
    retry: { initialInterval: "10 milliseconds", maximumInterval: "15 seconds" },
  },
  /** Tries until the store answers. */
  grantAgain: {
    startToCloseTimeout: "15 seconds",
    retry: { initialInterval: "1 second", backoffCoefficient: 1.5, maximumInterval: "15 seconds" },
  },
  grantNow: {
    startToCloseTimeout: "10 seconds",
    retry: { initialInterval: "500 milliseconds", maximumInterval: "5 seconds" },
  },
} as const;

/** An attempt to grant the points of a reservation, in its activity. */
export const grantTiming = {
  /**
   * The clock is read again after half of the time that is left, but not before this time has
   * passed, in case it is corrected while a grant is held.
   */
  clockMs: 1_000,
  /** How many attempts a worker makes at a time: as many as keep the quickest ones quick. */
  leastAtOnce: 4,
  mostAtOnce: 64,
  /** When even the quickest attempt took longer than this, fewer are made at a time. */
  slowMs: 500,
  /** A longer attempt goes on, but no other one waits for it. */
  longMs: 1_000,
  /** How long a grant waits at most for the others of its burst, before its activity completes. */
  deferMs: 20_000,
  /** Then so much is left of its time, in which a slow Temporal takes the answer. */
  completionMs: 15_000,
  /** The pause between attempts of one activity, each of which joins the queue again. */
  againMs: 200,
  /**
   * For this time after it is due, an activity makes another attempt after a retryable error. RETRY
   * needs workflow tasks, which a worker that grants many reservations of one moment completes
   * late.
   */
  firstMs: 20_000,
  /**
   * While the store has answered nothing for this time, an attempt returns RETRY also before
   * `firstMs`: longer than a request takes at most, also of a store that is only slow.
   */
  silentMs: 4_000,
  /** How often an attempt looks whether the store is silent. */
  lookMs: 100,
} as const;

/** The activities of Updates and of requested cancellations. */
export const changeTiming = {
  /** An operator waits for the answer of an Update, so the attempts are limited. */
  update: {
    startToCloseTimeout: "10 seconds",
    retry: { initialInterval: "500 milliseconds", maximumAttempts: 5 },
  },
  /** Nobody waits for a requested cancellation, so it is tried until the store answers. */
  cancellation: {
    startToCloseTimeout: "10 seconds",
    retry: { initialInterval: "500 milliseconds", maximumInterval: "15 seconds" },
  },
} as const;

/** The run of a hold. */
export const holdTiming = {
  /** Tries until the store answers. The Web UI shows the last failure of the pending activity. */
  timeOut: {
    startToCloseTimeout: "15 seconds",
    retry: { initialInterval: "500 milliseconds", maximumInterval: "15 seconds" },
  },
  /** How long a run waits at least before it reads its record again. */
  minWaitMs: 1_000,
} as const;

export const reconcilerTiming = {
  /** How long a run makes passes: the schedule's run timeout ends a run that is stuck. */
  runMs: 3_000_000,
  /** From the start of one pass to the start of the next one. */
  intervalMs: 30_000,
  /** Between the end of a pass and the start of the next one, at least. */
  minPauseMs: 1_000,
  /** Runs that ended this long before a pass are checked by it, as visibility lags behind. */
  overlapMs: 60_000,
  /** A first run, after an outage of the reconciler, checks what ended during this time. */
  firstMs: 86_400_000,
  /** Attempts are limited, because the next pass does the same. */
  syncRuns: {
    startToCloseTimeout: "10 minutes",
    // Less than is left of the schedule's run timeout after the last pass has begun.
    scheduleToCloseTimeout: "20 minutes",
    heartbeatTimeout: "15 seconds",
    retry: { initialInterval: "1 second", maximumAttempts: 3 },
  },
  startAllRuns: inSteps,
} as const;

/** Month ends, notices of expiry, and the purges of targets. */
export const sweepTiming = {
  month: short,
  shard: inSteps,
  purge: short,
  /**
   * A page of a purge takes 2 s at the default pace, and longer by the number of purges that share
   * it. An attempt that ran out of time would go on beside the next one, and take half of its pace.
   */
  purgePage: { startToCloseTimeout: "3 hours", heartbeatTimeout: "15 seconds", retry },
} as const;

/** Jobs over all accounts of a program. */
export const jobTiming = {
  lateEntriesMs,
  /** A step over a segment of the accounts, which sends heartbeats with its progress. */
  segment: { startToCloseTimeout: "5 minutes", heartbeatTimeout: "30 seconds", retry },
  /** The first and the last step, which an export does over all its files. */
  whole: { startToCloseTimeout: "1 hour", heartbeatTimeout: "15 seconds", retry },
} as const;

export const bulkGrantTiming = {
  /** How long the run of a paused bulk grant waits at most before it reads the record again. */
  pausedMs: 600_000,
  /** The clock of Temporal may be ahead of that of the store, so a wait may end too early. */
  minWaitMs: 100,
  readRecord: {
    startToCloseTimeout: "15 seconds",
    retry: { initialInterval: "500 milliseconds", maximumInterval: "15 seconds" },
  },
  /** A step over blocks takes about 20 s, or as long as one block takes at a low rate. */
  blocks: { startToCloseTimeout: "1 hour", heartbeatTimeout: "15 seconds", retry },
  end: { startToCloseTimeout: "10 minutes", heartbeatTimeout: "15 seconds", retry },
  /** A cancelled run is counted after this time, when no attempt at its rows writes any more. */
  lateRowsMs: 10_000,
  /** A report to people may fail: the bulk grant goes on without it. */
  report: { startToCloseTimeout: "5 minutes", retry: { ...retry, maximumAttempts: 5 } },
} as const;

/** The polls of a bulk grant's record by a run that waits for its end or its validation. */
export const pollTiming = { firstMs: 1_000, factor: 1.5, mostMs: 60_000 } as const;

/** Sheets from sources. */
export const sourceTiming = {
  /** Sends heartbeats while it reads. After the death of a worker, it reads the sheet again. */
  submit: { startToCloseTimeout: "1 hour", heartbeatTimeout: "15 seconds", retry },
  readRecord: short,
} as const;

const limitedRetry = { ...retry, maximumAttempts: 10 } as const;

/** The pick-up of new files. One file must not stop the others, so the attempts are limited. */
export const pickUpTiming = {
  /** How long a file waits for its validation, before it is left to the next pick-up. */
  validationMs: 30 * 60_000,
  files: { startToCloseTimeout: "1 hour", heartbeatTimeout: "15 seconds", retry: limitedRetry },
  /** Shorter, so that a folder of files that cannot be moved delays the other files by minutes. */
  move: {
    startToCloseTimeout: "1 hour",
    heartbeatTimeout: "15 seconds",
    retry: { ...retry, maximumAttempts: 5 },
  },
  readRecord: { startToCloseTimeout: "15 seconds", retry: limitedRetry },
  /** One attempt, so that no message is sent twice. Slack holds up no pick-up for longer. */
  report: { scheduleToCloseTimeout: "2 minutes", retry: { maximumAttempts: 1 } },
} as const;
