/** The dependencies of events: the ports that the composition root fills. */
import type * as bulkGrants from "../../bulk-grants/ports/deps.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { ChangeStreams } from "./changes.ts";
import type { EventStreams, EventTail } from "./event-reads.ts";
import type { EventLog, EventLogReader } from "./log.ts";
import type { RecordScan } from "./record-scan.ts";

export interface Deps extends bulkGrants.Deps {
  readonly eventLog: EventLogReader;
  readonly eventTail: EventTail;
  readonly eventStreams: EventStreams;
}

export interface WorkerDeps extends Deps, bulkGrants.WorkerDeps {}

/** The dependencies of the process that makes events and delivers them, without Temporal. */
export interface EventDeps
  extends Pick<
    Deps,
    "engine" | "reader" | "clock" | "programs" | "storeUnansweredMs" | "storeRefusals"
  > {
  readonly tallies: Pick<Deps["tallies"], "store" | "commits" | "clockSkewMs">;
  readonly eventLog: EventLog;
  readonly changeStreams: ChangeStreams;
  readonly recordScan: RecordScan;
  /** The time of the store, by the corrected clock of this machine, however far it is off. */
  readonly storeTime: () => Instant;
}

export type { Reader, Workflows } from "../../bulk-grants/ports/deps.ts";
