/** The dependencies of the use cases: the ports that the composition root fills. */

import type {
  BulkGrantReader,
  BulkGrantStreams,
  BulkSources,
  Reporter,
  SheetStore,
} from "../bulk-grants/ports/bulk-grants.ts";
import type { ApprovalTimes } from "../bulk-grants/rules/bulk-grant.ts";
import type { EventReader } from "../feed/ports/events.ts";
import type { NotificationReader } from "../feed/ports/notifications.ts";
import type { Purger, ReactionReader, TargetOwners } from "../feed/ports/reactions.ts";
import type { UnreadCountStreams } from "../feed/ports/unread-counts.ts";
import type { HoldReader } from "../holds/ports/holds.ts";
import type { Clock } from "../platform/ports/clock.ts";
import type { Engine, ReadAhead } from "../platform/ports/engine.ts";
import type { RecordReader } from "../platform/ports/records.ts";
import type { StoreThrottles } from "../platform/ports/store-throttles.ts";
import type { Tallies } from "../platform/ports/tallies.ts";
import type { Milliseconds } from "../platform/words/units.ts";
import type { ExportDestinations, ExportFormat } from "../points/ports/exports.ts";
import type { PointsReader, RemoveSnapshot } from "../points/ports/points.ts";
import type { ProgramReader, Programs } from "../points/ports/programs.ts";
import type { DueHours, ReservationReader } from "../reservations/ports/reservations.ts";
import type { Workflows } from "./workflows.ts";

/** Reads outside the engine. Strongly consistent, except for methods documented to lag behind. */
export interface Reader
  extends RecordReader,
    ProgramReader,
    PointsReader,
    ReservationReader,
    HoldReader,
    ReactionReader,
    NotificationReader,
    EventReader,
    BulkGrantReader {}

/** All dependencies. A use case takes the ones that it uses. */
export interface Deps {
  readonly engine: Engine;
  readonly readAhead: ReadAhead;
  readonly reader: Reader;
  readonly clock: Clock;
  /** For how long requests of one operation have waited while none was answered, in ms. */
  readonly storeSilenceMs: () => number;
  /** The same with attempts that have just ended without an answer. */
  readonly storeUnansweredMs: () => Milliseconds;
  readonly storeThrottles: () => StoreThrottles;
  readonly tallies: Tallies;
  readonly programs: Programs;
  readonly dueHours: DueHours;
  readonly workflows: Workflows;
  readonly owners: TargetOwners;
  readonly purger: Purger;
  readonly removeSnapshot: RemoveSnapshot;
  readonly unreadCounts: UnreadCountStreams;
  readonly sheets: SheetStore;
  readonly bulkGrantStreams: BulkGrantStreams;
  readonly bulkSources: BulkSources;
  readonly exportDestinations: ExportDestinations;
  readonly exportFormat: ExportFormat;
  readonly reporter: Reporter;
  readonly approvalTimes: ApprovalTimes;
  /** Waits until the process may execute one more row of a bulk grant. */
  readonly awaitRowSlot: () => Promise<void>;
  /** How long a read group is kept, in ms. */
  readonly historyMs: Milliseconds;
  /** Runs a task after the caller has its answer. The task may run several times. */
  readonly background: (task: () => Promise<void>) => void;
}
