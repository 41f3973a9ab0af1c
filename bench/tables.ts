/** The rows of the tables in docs/benchmarks.md. Every result is in one of them. */

/** One row: what was measured, in words, and the names of the results. */
export interface Row {
  readonly what: string;
  readonly of: readonly string[];
  /** The unit of the values, which are ratios or counts without one; `%`: shares in percent. */
  readonly in?: "%" | "KB" | "ms" | "s";
}

export type Tables = Readonly<Record<string, readonly Row[]>>;

const likeLists = [10, 1_000, 9_000];

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
    { what: "write units of a grant, 64 callers on one account", of: ["grant.write_units.hot"] },
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
    { what: "grants/s on distinct accounts over a bare SDK loop", of: ["grant.overhead"] },
  ],
  "hot-account": [
    { what: "grants/s on one account over a transaction each", of: ["grant.hot"] },
    {
      what: "the same over transactions queued by account, items locked for 2 ms; 4 ms; 8 ms",
      of: ["grant.hot.locked_2ms", "grant.hot.locked_4ms", "grant.hot.locked_8ms"],
    },
    {
      what: "grants/s on one account, 4 processes over 1, store locking",
      of: ["grant.conflicts.rate_4_over_1"],
    },
    {
      what: "the same, 2 processes over 1; 8 over 1",
      of: ["grant.conflicts.rate_2_over_1", "grant.conflicts.rate_8_over_1"],
    },
    {
      what: "the same: smallest share of a process, of a fair share",
      of: ["grant.conflicts.smallest_share"],
    },
    {
      what: "the same on up to 8 processes: longest wait",
      of: ["grant.conflicts.longest_wait"],
      in: "s",
    },
    { what: "the same: errors", of: ["grant.conflicts.errors"] },
    {
      what: "write units of a use, 64 callers on 4 processes, conflicts billed in full",
      of: ["use.write_units.4_processes"],
    },
    {
      what: "uses refused while others write, 1 to 8 processes: longest wait",
      of: ["use.refused.conflicts.longest_wait"],
      in: "s",
    },
    { what: "the same: errors", of: ["use.refused.conflicts.errors"] },
  ],
  client: [
    {
      what: "grants/s on one account, clients of 4 servers over clients of 1",
      of: ["grant.hot.affinity"],
    },
    {
      what: "likes/s of one comment, clients of 4 servers over clients of 1",
      of: ["like.hot.affinity"],
    },
    {
      what: "balances/s through the client package over bare connect-node",
      of: ["client.overhead"],
    },
  ],
  auth: [
    {
      what: "server CPU of a call with a token over that of a call without authentication",
      of: ["auth.overhead.cpu"],
    },
    { what: "calls/s with a token over calls/s without authentication", of: ["auth.overhead"] },
  ],
  hostile: [
    {
      what: "p99 of a good client during an attack over alone, the worst attack",
      of: ["hostile.p99"],
    },
    { what: "the same, the median of the attacks", of: ["hostile.p99.median"] },
    {
      what: "longest pause of the event loop by the largest inputs of all methods, CPU time",
      of: ["hostile.pause"],
      in: "ms",
    },
  ],
  throttling: [
    { what: "requests a call meanwhile", of: ["throttle.attempts"] },
    {
      what: "time for 1,000 grants afterwards, over the same without throttling",
      of: ["throttle.recovery"],
    },
  ],
  "throttled-sweep": [
    { what: "time of the pass, over the same without throttling", of: ["sweep.throttled"] },
  ],
  ledgers: [
    { what: "latency of a use; of a balance", of: ["use.growth", "balance.growth"] },
    { what: "the same in capacity units", of: ["use.growth.units", "balance.growth.units"] },
    {
      what: "latency of a forecast, 5,000 granted reservations over 10",
      of: ["forecast.growth"],
    },
    { what: "the same in read units", of: ["forecast.growth.units"] },
    {
      what: "read units of a balance of the past, 1,000 entries; 100,000 entries",
      of: ["as_of.read_units.short", "as_of.read_units"],
    },
  ],
  cpu: [
    {
      what: "server CPU of a grant: gRPC; AWS SDK; Meguri",
      of: ["grant.cpu.grpc", "grant.cpu.sdk", "grant.cpu.ours"],
      in: "%",
    },
    {
      what: "server CPU of a balance: gRPC; AWS SDK; Meguri",
      of: ["balance.cpu.grpc", "balance.cpu.sdk", "balance.cpu.ours"],
      in: "%",
    },
    {
      what: "the emulator's share of the CPU of both, grant; balance",
      of: ["grant.cpu.emulator", "balance.cpu.emulator"],
      in: "%",
    },
    {
      what: "server CPU of a grant; of a balance, over grpc-js",
      of: ["grant.cpu.over_grpc_js", "balance.cpu.over_grpc_js"],
    },
    { what: "balances a second, over grpc-js", of: ["balance.rate.over_grpc_js"] },
  ],
  reservations: [
    {
      what: "lateness, 5 due a second, p95 in units of 1.5 s",
      of: ["reservation.lateness.spread"],
    },
    { what: "the same, p95 over a scanner", of: ["reservation.lateness.scanner"] },
    { what: "the same, p99 over the previous version", of: ["reservation.lateness_p99"] },
    { what: "the same, p99 beside creations over that alone", of: ["reservation.under_creations"] },
    {
      what: "500 due at once, time to the last over a scanner; CPU time of each",
      of: ["reservation.burst", "reservation.burst.cpu"],
    },
    {
      what: "2,000 due at once, attempts a grant over those of 20 due at once",
      of: ["reservation.burst_attempts"],
    },
    {
      what: "the same, time to the last over the previous version",
      of: ["reservation.burst_last"],
    },
    { what: "history events of a reservation", of: ["reservation.history_events"] },
    { what: "write units of a reservation, until it is granted", of: ["reservation.write_units"] },
    { what: "billed actions of Temporal", of: ["reservation.actions"] },
    {
      what: "bytes of a history asleep over the previous version",
      of: ["reservation.bytes_asleep"],
    },
    {
      what: "memory of a sleeping reservation, 20,000 asleep: worker; Temporal",
      of: ["reservation.asleep.worker", "reservation.asleep.temporal"],
      in: "KB",
    },
    {
      what: "resident memory of a grant that is held until its time, 10,000 held",
      of: ["reservation.hold.memory"],
      in: "KB",
    },
    {
      what: "starts a pending reservation in a full pass, 0.5 % of the starts failing",
      of: ["reconcile.starts"],
    },
    {
      what: "a pass over 50 programs, reads 3 ms away, 16 shards at once over one after another",
      of: ["reconcile.programs"],
    },
    {
      what: "a pass over 200 programs over one; over one whose shards are read one by one",
      of: ["reconcile.programs_200", "reconcile.programs_200.one_by_one"],
    },
  ],
  "bulk-grants": [
    { what: "CPU time a row over one activity for each row", of: ["bulk.throughput"] },
    { what: "the same with Temporal's CPU time", of: ["bulk.throughput.temporal"] },
    { what: "rows/s over one activity for each row", of: ["bulk.throughput.rate"] },
    {
      what: "requests to the store of a run, for each row, accounts cold",
      of: ["bulk.round_trips"],
    },
    { what: "the same with the upload and the validation", of: ["bulk.round_trips.all"] },
    {
      what: "write units of a granted row; of a first grant",
      of: ["bulk.write_units", "bulk.write_units.first"],
    },
    { what: "read units of the lease, a second for each lane", of: ["bulk.lease_read_units"] },
    {
      what: "history events for 1,000 rows, in a sheet of 10,000; of 1,000",
      of: ["bulk.history_events", "bulk.history_events.small"],
    },
    {
      what:
        "lateness of reservations, p99, while rows run at the default rate, " + "over that without",
      of: ["reservation.lateness.under_bulk"],
    },
    { what: "time a row, 100,000 rows over 10,000", of: ["bulk.growth"] },
    {
      what: "resident memory, 100,000 rows over 10,000: worker",
      of: ["bulk.memory.worker"],
    },
    {
      what: "the same in a server, an upload of 200,000 rows over 10,000",
      of: ["bulk.memory.server"],
    },
  ],
  "month-ends": [
    { what: "reads of a due account", of: ["expiry.account_reads"] },
    {
      what: "read units of a due account, 1 % due; write units",
      of: ["expiry.read_units", "expiry.write_units"],
    },
    { what: "CPU time an account over a loop", of: ["month_end.cpu"] },
    { what: "accounts a second over a loop", of: ["month_end.rate"] },
    {
      what: "accounts visited and left unchanged, no bound stale; in the demo's shop",
      of: ["expiry.read_unchanged", "expiry.visited_unchanged"],
      in: "%",
    },
    {
      what:
        "accounts a second, 12 changes a second for each index partition, " +
        "over the previous version",
      of: ["month_end.partitions"],
    },
    {
      what: "accounts a second of two workers over one, writes 1.5 s away",
      of: ["month_end.workers"],
    },
    {
      what: "accounts a second of a liability report, one worker, each changed since",
      of: ["report.accounts_per_second"],
    },
  ],
  reactions: [
    { what: "likes/s on one comment over a transaction each", of: ["like.hot"] },
    {
      what: "the same over transactions queued by owner, items locked for 2 ms; 4 ms; 8 ms",
      of: ["like.hot.locked_2ms", "like.hot.locked_4ms", "like.hot.locked_8ms"],
    },
    {
      what: "the same, its owner reading, 4 processes over 1, store locking",
      of: ["like.conflicts.rate_4_over_1"],
    },
    {
      what: "the same, 2 processes over 1; 8 over 1",
      of: ["like.conflicts.rate_2_over_1", "like.conflicts.rate_8_over_1"],
    },
    {
      what: "the same on up to 8 processes: longest wait",
      of: ["like.conflicts.longest_wait"],
      in: "s",
    },
    { what: "the same: errors", of: ["like.conflicts.errors"] },
    { what: "latency of a like at 100,000 likers over 10", of: ["like.growth"] },
    { what: "the same in capacity units", of: ["like.growth.units"] },
    {
      what: "latency of listing and reading at 100,000 likers over 10",
      of: ["unread.growth"],
    },
    { what: "the same in capacity units", of: ["unread.growth.units"] },
    {
      what: "write units of a like; of a like of a muted comment; of the own one",
      of: ["like.write_units", "like.write_units.muted", "like.write_units.own"],
    },
    {
      what: "the same with a list of likers, 10; 1,000; 9,000 of them",
      of: likeLists.map((likers) => `like.write_units.list_${likers}`),
    },
    {
      what: "write units of a mark-read, whole; split",
      of: ["mark_read.write_units", "mark_read.write_units.split"],
    },
    {
      what: "the same with a list of likers, 10; 1,000; 9,000 of them",
      of: likeLists.map((likers) => `mark_read.write_units.list_${likers}`),
    },
    {
      what: "units of a delete with its purge, 20,000 lines of the owner's history over 10",
      of: ["delete.growth"],
    },
    {
      what: "requests to the store of a like, owner busy; cold; new to the server",
      of: ["like.round_trips", "like.round_trips.cold", "like.round_trips.first"],
    },
    { what: "read units of 100 summaries with a viewer", of: ["summaries.read_units"] },
    {
      what: "write units of an event in a notification of 1,000 events over one of 10",
      of: ["notify.write_units"],
    },
    {
      what: "the same, to take the first, a middle and the latest event back",
      of: ["retract.write_units"],
    },
    {
      what: "queries for the latest people of a post with three kinds; one for each kind before",
      of: ["recent.queries"],
    },
    { what: "the same with ids of 64 characters", of: ["recent.queries.long_ids"] },
    {
      what: "from a like to the pushed count, p99, same server, in polls of 1 s",
      of: ["watch.delay.same_process"],
    },
    {
      what: "the same, another server, owner active",
      of: ["watch.delay.other_process.active"],
    },
    {
      what: "the same, another server, owner quiet for a minute",
      of: ["watch.delay.other_process.quiet"],
    },
    {
      what:
        "the same, another server, with [announcements](operations.md#announcements), " +
        "100 likes/s",
      of: ["watch.push.p99"],
      in: "s",
    },
    {
      what: "read units of a quiet watcher and hour, with two openings",
      of: ["watch.read_units"],
    },
    { what: "the same with announcements", of: ["watch.quiet_units"] },
    {
      what: "resident memory of a quiet stream of counts, 10,000 open in one process",
      of: ["watch.stream_bytes"],
      in: "KB",
    },
    {
      what: "CPU time of 10,000 quiet streams, in balances a second that take as much",
      of: ["streams.10000.cpu"],
    },
    {
      what: "p99 of a balance beside 10,000 quiet streams over a server without them",
      of: ["streams.10000.balance"],
    },
    {
      what: "p99 of a balance while 10,000 streams come back after a drain, over before",
      of: ["watch.return"],
    },
  ],
  "mark-read": [
    {
      what: "8 people before and 15,000 after, 60 likes/s",
      of: ["mark_read.contended"],
      in: "s",
    },
    {
      what: "8 people before and 15,000 after, 30 likes/s",
      of: ["mark_read.contended.likes_30"],
      in: "s",
    },
    {
      what: "8 people before and 15,000 after, 10 likes/s",
      of: ["mark_read.contended.likes_10"],
      in: "s",
    },
    {
      what: "8 people before and 15,000 after, 0 likes/s",
      of: ["mark_read.contended.likes_0"],
      in: "s",
    },
    {
      what: "8 people before and 15,000 after, 60 likes/s, 3 unlikes/s",
      of: ["mark_read.contended.unlikes"],
      in: "s",
    },
    {
      what: "7,500 people before and 7,500 after, 60 likes/s",
      of: ["mark_read.contended.even"],
      in: "s",
    },
    {
      what: "7,500 people before and 7,500 after, 60 likes/s, 3 unlikes/s",
      of: ["mark_read.contended.even.unlikes"],
      in: "s",
    },
  ],
  "mark-all": [
    { what: "commits of a mark-all for 100 groups", of: ["mark_all.commits"] },
    {
      what: "longest wait of a like to the owner at another process meanwhile",
      of: ["mark_all.commits.like_wait"],
      in: "ms",
    },
  ],
  transport: [
    {
      what: "CPU time of the server over the SDK's transport: a grant; a balance",
      of: ["transport.grant.cpu", "transport.balance.cpu"],
    },
    {
      what: "the same of a grant, on a store that commits at once",
      of: ["transport.grant.instant.cpu"],
    },
    { what: "CPU time of a GetItem over a bare POST", of: ["transport.request.cpu"] },
  ],
  starts: [
    {
      what: "a server's start over the baseline: CPU time; time",
      of: ["start.server.cpu", "start.server.time"],
    },
    {
      what: "a worker's start over the baseline: CPU time; time",
      of: ["start.worker.cpu", "start.worker.time"],
    },
    {
      what: "CPU time of a start with compiled modules over one without: server; worker",
      of: ["start.server.cpu.compiled", "start.worker.cpu.compiled"],
    },
  ],
  "hard-hour": [
    {
      what: "p99 beside all of it over that of the same arrivals alone: grant; balance; like",
      of: ["hard_hour.grant.p99", "hard_hour.balance.p99", "hard_hour.like.p99"],
    },
    { what: "failed calls", of: ["hard_hour.errors"] },
    {
      what: "lateness of the 500 reservations, p99, over that of the same alone",
      of: ["hard_hour.lateness"],
    },
    {
      what: "resident memory after over before: server; worker",
      of: ["hard_hour.memory.server", "hard_hour.memory.worker"],
    },
  ],
  peers: [
    {
      what: "grants/s over Postgres: distinct accounts; one account",
      of: ["peers.grant.postgres.rate", "peers.grant.postgres.hot.rate"],
    },
    {
      what: "CPU time of the server a grant, the same",
      of: ["peers.grant.postgres.cpu", "peers.grant.postgres.hot.cpu"],
    },
    {
      what: "the same with Postgres on its side",
      of: ["peers.grant.postgres.cpu_database", "peers.grant.postgres.hot.cpu_database"],
    },
    {
      what: "reservations over pg-boss: lateness, p99; 500 due at once, time to the last",
      of: ["peers.reservation.pg_boss.lateness", "peers.reservation.pg_boss.burst"],
    },
    { what: "CPU time of each, the same", of: ["peers.reservation.pg_boss.cpu"] },
  ],
};
