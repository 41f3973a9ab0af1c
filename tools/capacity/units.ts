/**
 * The costs of calls in DynamoDB's units. A test measures them with the ids and texts that it has;
 * longer ones cost more only above 1 KB an item. Each account and inbox is cold, as most are.
 */

interface Cost {
  readonly writes: number;
  readonly reads: number;
}

export const costs = {
  grant: { writes: 6, reads: 1 },
  use: { writes: 6, reads: 1 },
  balance: { writes: 0, reads: 1 },
  /** A like of a post whose owner has unread ones. */
  like: { writes: 12, reads: 3 },
  notify: { writes: 16, reads: 5 },
  /** A list of two notifications that are then marked as read, one after another. */
  read: { writes: 18, reads: 22 },
  /** A reservation with the mark until its run has started. */
  reserve: { writes: 5, reads: 1 },
  execute: { writes: 11, reads: 3 },
  /** The points of an account that expire at a month's end. */
  expire: { writes: 5, reads: 1 },
  /** The past of an account with 20 ledger entries, which is known already as it is now. */
  past: { writes: 0, reads: 2 },
  /** What an export reads of the ledger of such an account, if that has changed in its window. */
  window: { writes: 0, reads: 1 },
} as const satisfies Record<string, Cost>;

/** The write units of a grant in the table `points`: its entry and its event key. */
export const ledgerWrites = 4;

/**
 * The stored bytes of a call, measured likewise: items and their entries in indexes, each with the
 * 100 bytes that DynamoDB adds.
 */
export const stored = {
  /** A ledger entry and an event key, kept for good. */
  grant: 487,
  use: 470,
  reserve: 948,
  /** Beside the reservation, which loses the token of its creation and its entry by state. */
  execute: 130,
  like: 591,
  /** An account, with its entry in the index of expiry. */
  member: 352,
  /** Of it the item alone, without the 100 bytes: what a scan of accounts reads. */
  account: 110,
} as const;

/** Results of the benchmarks (docs/change/benchmarks.md, bench/results.json). */
export const measured = {
  /** Write units of a row of a bulk grant from its upload to its outcome; new accounts. */
  rowWrites: 7.08,
  /** Read units of a quiet watcher and hour: by polls, and with announcements. */
  watcherReads: 385,
  announcedWatcherReads: 35.1,
  /** KB of memory of a stream, and of a grant that waits for its time in a worker. */
  streamKb: 27.7,
  heldGrantKb: 15.7,
} as const;

/**
 * Read units of a pass of the reconciler where nothing waits: 149 queries without a result, and a
 * read of the programs. Each further program adds 1.2: its record, the latest change of its rules,
 * and its daily check.
 */
export const idlePassReads = 75.5;

/**
 * Read units of a worker's sweeps in 10 s in which nothing is due: 16 queries without a result. It
 * adds the record and 20 queries of each program with something due in the current hour.
 */
export const idleSweepReads = 8;

/** Figures of docs/change/benchmarks.md that depend on the machine: take your own if you can. */
export const assumed = {
  /** MB of a server or worker that does nothing special. */
  processMb: 250,
  /**
   * Milliseconds of CPU of a call: a grant on a store that commits at once takes 0.31 to 0.42
   * (docs/decisions/0072-connect-to-dynamodb-by-undici.md).
   */
  callCpuMs: 0.42,
  /** Milliseconds of CPU that a worker takes for a row of a bulk grant; of an expiry, a guess. */
  rowCpuMs: 1.7,
  /**
   * Accounts of which a worker reads the ledger in a second, for a report
   * (`report.accounts_per_second`), and those that it only scans, a guess by 60 µs of CPU for each
   * on the store in memory.
   */
  ledgersPerWorker: 640,
  scannedPerWorker: 10_000,
  /** Milliseconds of a query of DynamoDB, a guess. */
  queryMs: 10,
  /** Grants of one moment that a worker makes a second. */
  grantsPerWorker: 200,
  /** How far ahead reservations are made, which is how long their runs sleep. */
  daysAhead: 30,
  /** The share of a vCPU that is planned for. */
  cpuShare: 0.7,
  /** The share of provisioned units that is used: TargetUtilization of deploy/tables.yaml. */
  provisionedShare: 0.6,
} as const;

/** What the log of events takes. Guesses, but for the intervals, which are those of the code. */
export const ofEvents = {
  /** The shards of streams: one for each of the four partitions of five new tables on demand. */
  shards: 20,
  /** How often a shard is read a second, unless it has hundreds of changes a second. */
  polls: 4,
  /** How many batches are appended a second at most, unless they are full. */
  appends: 10,
  /** Bytes of an event in the log: 300, which compression makes a third of. */
  eventBytes: 100,
  /** The positions in each batch: of each shard, and of the 12 before it, of 4 hours each. */
  positions: 20 * 13,
  /** Bytes of a position when compressed; most are of shards that have ended. */
  positionBytes: 20,
  /** How often a process that reads the log asks for the next batch a second. */
  logPolls: 1_000 / 150,
} as const;

/** Limits of DynamoDB, Temporal and other services. */
export const limits = {
  partitionWrites: 1_000,
  partitionReads: 3_000,
  /** A new table on demand, before it has seen traffic. */
  newTableWrites: 4_000,
  newTableReads: 12_000,
  /** The default quota of a table. */
  tableWrites: 40_000,
  tableReads: 40_000,
  /** Actions a second of a namespace of Temporal Cloud. */
  actionsPerSecond: 500,
} as const;
