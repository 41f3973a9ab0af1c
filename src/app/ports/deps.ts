/** The dependencies of the use cases: the ports that the composition root fills. */
import type { ApprovalTimes } from "../../domain/bulk-grant.ts";
import type { Milliseconds } from "../../domain/units.ts";
import type {
  BulkGrantReader,
  BulkGrantStreams,
  BulkSources,
  Reporter,
  SheetStore,
} from "./bulk-grants.ts";
import type { Clock } from "./clock.ts";
import type { Engine, ReadAhead } from "./engine.ts";
import type { EventReader } from "./events.ts";
import type { ExportDestinations, ExportFormat } from "./exports.ts";
import type { HoldReader } from "./holds.ts";
import type { NotificationReader } from "./notifications.ts";
import type { PointsReader, RemoveSnapshot } from "./points.ts";
import type { ProgramReader, Programs } from "./programs.ts";
import type { Purger, ReactionReader, TargetOwners } from "./reactions.ts";
import type { RecordReader } from "./records.ts";
import type { DueHours, ReservationReader } from "./reservations.ts";
import type { StoreThrottles } from "./store-throttles.ts";
import type { Tallies } from "./tallies.ts";
import type { UnreadCountStreams } from "./unread-counts.ts";
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
