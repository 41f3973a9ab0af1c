/** The rows of the tables in docs/change/benchmarks.md: the results that a user asks for. */

/** One row: what was measured, in words, and the names of the results. */
export interface Row {
  readonly what: string;
  readonly of: readonly string[];
  /** The unit of the values, which are ratios or counts without one. */
  readonly in?: "KB" | "ms" | "s";
}

export type Tables = Readonly<Record<string, readonly Row[]>>;

/** By the names of the tables' markers in the document. */
export const tables: Tables = {
  calls: [
    {
      what: "write units of a grant; of a use; of a first grant",
      of: ["grant.write_units", "use.write_units", "grant.write_units.first"],
    },
    {
      what: "write units of a grant that ends early; of one that ends earlier than all before",
      of: ["grant.write_units.expire_month", "grant.write_units.expire_month.oldest"],
    },
    {
      what: "requests to the store of a grant; of a use",
      of: ["grant.round_trips", "use.round_trips"],
    },
    { what: "the same, account cold", of: ["grant.round_trips.cold", "use.round_trips.cold"] },
    { what: "read units of a balance", of: ["balance.read_units"] },
    {
      what: "write units of a hold; of a capture that ends it; of one after which more follow",
      of: ["hold.write_units", "capture.write_units", "capture.write_units.more_follow"],
    },
    { what: "write units of a reservation, until it is granted", of: ["reservation.write_units"] },
    {
      what: "write units of a row of a bulk grant; of a row that opens an account",
      of: ["bulk.write_units", "bulk.write_units.first"],
    },
    {
      what: "write units of a like; of a like of a muted comment; of the own comment",
      of: ["like.write_units", "like.write_units.muted", "like.write_units.own"],
    },
    {
      what: "write units of a mark-read, whole; split",
      of: ["mark_read.write_units", "mark_read.write_units.split"],
    },
    { what: "read units of 100 summaries with a viewer", of: ["summaries.read_units"] },
    { what: "queries for the latest people of a post with three kinds", of: ["recent.queries"] },
    { what: "grants/s on distinct accounts over a bare SDK loop", of: ["grant.overhead"] },
  ],
  "one-key": [
    { what: "grants/s on one account over a transaction each", of: ["grant.hot"] },
    {
      what: "the same over queued transactions, items locked for 2 ms",
      of: ["grant.hot.locked"],
    },
    {
      what: "grants/s on one account, 4 processes over 1, store locking",
      of: ["grant.conflicts.rate_4_over_1"],
    },
    {
      what: "the same, clients of 4 servers over clients of 1",
      of: ["grant.hot.affinity"],
    },
    {
      what: "likes/s on one comment, its owner reading, 4 processes over 1, store locking",
      of: ["like.conflicts.rate_4_over_1"],
    },
    {
      what: "longest wait of a grant; of a refused use; of a like, 1 to 8 processes",
      of: [
        "grant.conflicts.longest_wait",
        "use.refused.conflicts.longest_wait",
        "like.conflicts.longest_wait",
      ],
      in: "s",
    },
    {
      what: "errors of the same",
      of: ["grant.conflicts.errors", "use.refused.conflicts.errors", "like.conflicts.errors"],
    },
    {
      what: "write units of a use, 64 callers on 4 processes, conflicts billed in full",
      of: ["use.write_units.4_processes"],
    },
    {
      what: "mark-read, 8 people before and 15,000 after, 60 likes/s at another process",
      of: ["mark_read.contended"],
      in: "s",
    },
  ],
  growth: [
    {
      what: "latency of a use; of a balance, 100,000 ledger entries over 10",
      of: ["use.growth", "balance.growth"],
    },
    { what: "the same in capacity units", of: ["use.growth.units", "balance.growth.units"] },
    {
      what: "latency of a forecast, 5,000 granted reservations over 10; read units",
      of: ["forecast.growth", "forecast.growth.units"],
    },
    {
      what: "read units of a balance of the past, 1,000 entries; 100,000 entries",
      of: ["as_of.read_units.short", "as_of.read_units"],
    },
    {
      what: "latency of a like; of listing and reading, 100,000 likers over 10",
      of: ["like.growth", "unread.growth"],
    },
    { what: "the same in capacity units", of: ["like.growth.units", "unread.growth.units"] },
    { what: "time of a row of a bulk grant, 15,000 rows over 1,500", of: ["bulk.growth"] },
    {
      what: "memory of a worker, 15,000 rows over 1,500; of a server, 200,000 over 10,000",
      of: ["bulk.memory.worker", "bulk.memory.server"],
    },
    { what: "memory of a server, 200,000 rows as .xlsx over CSV", of: ["sheet.xlsx_memory"] },
  ],
  cpu: [
    { what: "rows of a sheet checked a CPU second, over csv-parse", of: ["sheet.check_rate"] },
    {
      what: "CPU time of the server for a grant; for a balance, over grpc-js",
      of: ["grpc.cpu.grant", "grpc.cpu.balance"],
    },
    {
      what: "CPU time of a call with a token over one without authentication",
      of: ["auth.overhead.cpu"],
    },
    {
      what: "balances/s through the client package over bare connect-node",
      of: ["client.overhead"],
    },
  ],
  starts: [
    {
      what: "a server's start over the baseline: CPU time; time",
      of: ["server.start.cpu", "server.start.time"],
    },
    {
      what: "CPU time of a start from the source over the baseline",
      of: ["server.start.cpu.source"],
    },
  ],
  reservations: [
    {
      what: "lateness, 20 due a second, p99",
      of: ["reservation.lateness"],
      in: "ms",
    },
    {
      what: "the same beside creations; beside a bulk grant, over that alone",
      of: ["reservation.under_creations", "reservation.under_bulk"],
    },
    {
      what: "500 due at once, time to the last over a scanner; CPU time of each",
      of: ["reservation.burst", "reservation.burst.cpu"],
    },
    {
      what: "grants a second that the keys of 64 shards take; over 16",
      of: ["reservation.shards.rate", "reservation.shards"],
    },
    { what: "billed actions of Temporal", of: ["reservation.actions"] },
    {
      what: "resident memory of a grant that is held until its time, 10,000 held",
      of: ["reservation.hold.memory"],
      in: "KB",
    },
    {
      what: "a sweep and a reconciler's pass over 200 programs, over those over a single one",
      of: ["reconcile.programs"],
    },
    {
      what: "lateness, p99; 500 due at once, time to the last; CPU time of each, over pg-boss",
      of: [
        "peers.reservation.pg_boss.lateness",
        "peers.reservation.pg_boss.burst",
        "peers.reservation.pg_boss.cpu",
      ],
    },
  ],
  "bulk-grants": [
    {
      what: "CPU time a row over one activity for each row; with Temporal's",
      of: ["bulk.throughput", "bulk.throughput.temporal"],
    },
    {
      what: "requests to the store a row, accounts cold; with the upload and the validation",
      of: ["bulk.round_trips", "bulk.round_trips.all"],
    },
    { what: "history events for 1,000 rows, of 3,000", of: ["bulk.history_events"] },
  ],
  "month-ends": [
    {
      what: "reads; read units; write units of a due account, 1 % due",
      of: ["expiry.account_reads", "expiry.read_units", "expiry.write_units"],
    },
    {
      what: "CPU time an account; accounts a second, over a loop",
      of: ["month_end.cpu", "month_end.rate"],
    },
    {
      what: "p99 of grants beside a month end, over those without",
      of: ["month_end.neighbour"],
    },
    {
      what: "accounts a second of a liability report, one worker, each changed since",
      of: ["report.accounts_per_second"],
    },
  ],
  watches: [
    {
      what: "from a like to the pushed count on another server, p99, with announcements",
      of: ["watch.push.p99"],
      in: "s",
    },
    {
      what: "read units of a quiet watcher and hour; with announcements",
      of: ["watch.read_units", "watch.quiet_units"],
    },
    {
      what: "resident memory of a quiet stream of counts, 10,000 open in one process",
      of: ["watch.stream_bytes"],
      in: "KB",
    },
    {
      what: "p99 of a balance while 10,000 streams come back after a drain, over before",
      of: ["watch.return"],
    },
  ],
  events: [
    {
      what: "from the answer of the store to a reader of the log, p99 at 300 changes/s",
      of: ["events.lag"],
      in: "s",
    },
    {
      what: "CPU time of the events process for a change, over that of the server for a grant",
      of: ["events.cpu"],
    },
    { what: "write units of the log a change at 300 changes/s", of: ["events.write_units"] },
    {
      what: "resident memory of a subscription whose destination hangs, of 50",
      of: ["events.subscriptions_memory"],
      in: "KB",
    },
  ],
  trouble: [
    {
      what: "p99 of a good client during the worst attack over alone; the median attack",
      of: ["hostile.p99", "hostile.p99.median"],
    },
    {
      what: "longest pause of the event loop by the largest inputs of all methods, CPU time",
      of: ["hostile.pause"],
      in: "ms",
    },
    { what: "requests a call while the store throttles all for 5 s", of: ["throttle.attempts"] },
    { what: "time for 1,000 grants afterwards, over the same without", of: ["throttle.recovery"] },
  ],
};
