/** The log of events: numbered batches, which one process at a time appends. */
import type { Instant } from "../../platform/words/month.ts";
import type { Event } from "../published/event.ts";
import type { Gap, ShardPositions } from "./changes.ts";

/** A gap that is being closed from the tables. */
export interface OpenGap extends Gap {
  /** Where the scan of the table goes on; undefined before its first page. */
  readonly cursor?: string | undefined;
  /** How many events were sent for it so far. */
  readonly eventCount: number;
}

/** Where the writer goes on. Each batch holds it, so events and positions never disagree. */
export interface LogState {
  readonly positions: ShardPositions;
  /** The gaps that are being closed, at most one of each table. */
  readonly gaps: readonly OpenGap[];
}

export interface LogBatch {
  /** 1 for the first, one more for each further one. */
  readonly number: number;
  /** When it was appended. */
  readonly time: Instant;
  readonly events: readonly Event[];
}

export interface LogTail {
  /** Names this log; a log of other tables has another id. */
  readonly logId: string;
  /**
   * The number of the last batch; 0 before the first one. A number is never used twice: where no
   * batch is kept any more, it is one that the last batch had at most.
   */
  readonly number: number;
  /** When that batch was appended, or the log began. */
  readonly time: Instant;
}

/** A position in a log: before this event. The batch need not exist yet. */
export interface LogPosition {
  /** Empty: the beginning of the log that begins next. */
  readonly logId: string;
  readonly number: number;
  /** The index of the next event in the batch; 0 in a batch that does not exist yet. */
  readonly index: number;
}

/** A position, and when its batch was appended, or the one before; absent if not known. */
export interface TimedPosition extends LogPosition {
  readonly time?: Instant | undefined;
}

/** How long events are kept. DynamoDB deletes them within days after that. */
export const keptMs = 14 * 24 * 3_600_000;

export interface EventLogReader {
  /** Undefined where no log has begun yet. Strongly consistent. */
  tail(): Promise<LogTail | undefined>;
  /**
   * The batches from `number` on, without gaps, at most `limit`; none at the end of the log, and
   * none when the first one is not kept any more.
   */
  read(number: number, limit: number): Promise<readonly LogBatch[]>;
  /** The number of the first batch that was appended at or after `time` and is kept. */
  find(time: Instant): Promise<number>;
}

export interface EventLog extends EventLogReader {
  /** Begins the log unless it exists. */
  begin(): Promise<LogTail>;
  /** The state that the last batch holds, or an earlier one where it is not kept any more. */
  state(tail: LogTail): Promise<LogState>;
  /**
   * Appends a batch under the condition that its number is free. Returns false when another process
   * has appended one of this number. After an error nobody knows whether it was appended: the tail
   * says so, and a request that still arrives later finds its number taken.
   */
  append(batch: LogBatch, state: LogState): Promise<boolean>;
}
