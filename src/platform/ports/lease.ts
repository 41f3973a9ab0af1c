/** Work that one process at a time does. */

/** The lease that a process holds while it does this work. */
export interface Lease {
  /**
   * Waits until this process holds the lease. The signal aborts when it does so no more. Undefined
   * after `close`. Call it again after that signal or after `release`.
   */
  take(): Promise<AbortSignal | undefined>;
  /** Gives the lease up, so that another process takes it. Does nothing without it. */
  release(): Promise<void>;
  /** Whether another process holds it, as far as this one has seen. */
  isElsewhere(): boolean;
  /** Whether the last attempt to take it has failed, so that nobody knows who holds it. */
  isUnanswered(): boolean;
  /** Gives the lease up for good. */
  close(): Promise<void>;
}

/** Who holds a lease, as it is stored. */
export interface LeaseHolder {
  /** Names a process or a workflow; empty when nobody holds the lease. */
  readonly holder: string;
  /** The holder counts it up; every other change does so, too. */
  readonly heartbeat: number;
}
