/** The dependencies of events: the ports that the composition root fills. */
import type * as bulkGrants from "../../bulk-grants/ports/deps.ts";
import type { ChangeStreams } from "./changes.ts";
import type { EventLog, EventLogReader } from "./log.ts";

export interface Deps extends bulkGrants.Deps {
  readonly eventLog: EventLogReader;
}

export interface WorkerDeps extends Deps, bulkGrants.WorkerDeps {}

/** The dependencies of the process that makes the events and delivers them. */
export interface EventDeps extends Deps {
  readonly eventLog: EventLog;
  readonly changeStreams: ChangeStreams;
}

export type { Reader, Workflows } from "../../bulk-grants/ports/deps.ts";
