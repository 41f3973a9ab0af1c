/**
 * Writes the log: reads the changes of the store, makes events of them, and appends them with the
 * positions up to which the streams are read. So another process goes on where this one stops, and
 * what this one still sends finds its number taken.
 */
import type { Instant } from "../../platform/words/month.ts";
import type { ShardPosition, StoredChange, StreamedTable, Taken } from "../ports/changes.ts";
import type { EventDeps } from "../ports/deps.ts";
import type { LogState, OpenGap } from "../ports/log.ts";
import { sourceOf } from "../published/to-event.ts";
import type { ChangeEvent } from "../rules/change-event.ts";
import { gapClosed, gapFound } from "../rules/notices-of-log.ts";
import { closeGap } from "./close-gap.ts";
import {
  type AppendObservers,
  type AppendTiming,
  createLogAppends,
  type LogAppends,
} from "./log-appends.ts";
import { withGap, withoutGap, withPosition, withProgress } from "./log-state.ts";
import { createEventMaker, type EventMaker, type MakeObservers } from "./make-events.ts";

type WriterDeps = Pick<
  EventDeps,
  "engine" | "reader" | "programs" | "recordScan" | "eventLog" | "changeStreams"
>;

export interface WriteObservers extends AppendObservers, MakeObservers {
  /** Called when a stream has lost changes. */
  onGap(gap: OpenGap): void;
}

/** What is written, how often, and what is called then. */
interface Writing {
  /** The id of the installation, which its events name. */
  readonly installation: string;
  readonly observers: WriteObservers;
  readonly timing?: AppendTiming | undefined;
}

/**
 * Writes the events of an installation until the signal aborts. Rejects with StaleWriter when
 * another process has appended, and with what the store throws. Nothing is under way then.
 */
export async function writeEvents(
  deps: WriterDeps,
  { installation, observers, timing }: Writing,
  signal: AbortSignal,
): Promise<void> {
  const { eventLog, changeStreams } = deps;
  const tail = await eventLog.begin();
  const state = await eventLog.state(tail);
  const failed = new AbortController();
  const running = AbortSignal.any([signal, failed.signal]);
  const appends = createLogAppends(eventLog, tail, state, observers, timing);
  const make = createEventMaker(deps, sourceOf(installation, tail.logId), observers);
  const gaps = createGaps({ deps, observers, appends, make, running });
  /** The first failure ends all others, so that nothing is under way behind the end. */
  const work = [
    // First, so that the table of an open gap waits from the beginning on.
    ...state.gaps.map((gap) => gaps.resume(gap)),
    changeStreams.read(state.positions, createTake(gaps, appends, make), running),
  ].map((each) =>
    each.catch((error: unknown) => {
      failed.abort(error);
      throw error;
    }),
  );
  await Promise.allSettled(work);
  if (failed.signal.aborted && !signal.aborted) throw failed.signal.reason;
}

type Gaps = ReturnType<typeof createGaps>;

/** Hands over what the streams have. No shard of a table goes on while a gap of it is open. */
function createTake(gaps: Gaps, appends: LogAppends, make: EventMaker) {
  return async (taken: Taken): Promise<void> => {
    if (taken.kind === "gap") return gaps.open(taken);
    const { changes, shard, position } = taken;
    const { table } = position;
    await gaps.closed(table);
    const made = await make.ofChanges(changes);
    await appends.append({
      table,
      parts: made,
      next: (state, parts) => {
        const reached =
          parts === made.length ? position : behind(made[parts - 1]?.change, position);
        return reached ? withPosition(state, shard, reached) : state;
      },
    });
  };
}

/** The position behind a change; undefined where the change does not say it. */
const behind = (
  change: StoredChange | undefined,
  { ended: _, ...position }: ShardPosition,
): ShardPosition | undefined =>
  change?.sequence === undefined
    ? undefined
    : { ...position, sequence: change.sequence, time: change.time };

interface GapParts {
  readonly deps: WriterDeps;
  readonly observers: Pick<WriteObservers, "onGap">;
  readonly appends: LogAppends;
  readonly make: EventMaker;
  readonly running: AbortSignal;
}

/** Closes gaps from the tables, each table by itself. */
function createGaps({ deps, observers, appends, make, running }: GapParts) {
  const closing = new Map<StreamedTable, Promise<void>>();

  /** A writer that is killed in between has changed nothing, and appends all of them again. */
  const append = (
    gap: OpenGap,
    events: readonly ChangeEvent[],
    next: (state: LogState) => LogState,
  ) =>
    appends.append({
      table: gap.table,
      parts: make.ofGap(gap, events),
      next: (state, parts) => (parts === events.length ? next(state) : state),
    });

  async function close(gap: OpenGap): Promise<void> {
    let { eventCount } = gap;
    const emit = async (events: readonly ChangeEvent[], cursor: string) => {
      eventCount += events.length;
      const progress = { ...gap, cursor, eventCount };
      await append(gap, events, (state) => withProgress(state, progress));
    };
    await closeGap(deps, gap, emit, running);
    const closed = gapClosed(gap, eventCount, now());
    await append(gap, [closed], (state) => withoutGap(state, gap.table));
  }

  /** Notes that a gap is being closed, so that its table waits. */
  function start(gap: OpenGap, work: Promise<void>): Promise<void> {
    closing.set(gap.table, work);
    return work;
  }

  return {
    /** Goes on with a gap that another process has left open. */
    resume: (gap: OpenGap) => start(gap, close(gap)),
    async open({ gap, positions }: Extract<Taken, { kind: "gap" }>): Promise<void> {
      await closing.get(gap.table);
      const opened: OpenGap = { ...gap, eventCount: 0 };
      observers.onGap(opened);
      const found = gapFound(gap, now());
      await append(opened, [found], (state) => withGap(state, opened, positions));
      await close(opened);
    },
    /** Resolves when no gap of a table is open. */
    closed: (table: StreamedTable): Promise<void> | undefined => closing.get(table),
  };
}

const now = (): Instant => Date.now();
