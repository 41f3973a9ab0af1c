/** The dependencies of bulk grants: the ports that the composition root fills. */
import type { Pace } from "../../platform/ports/deps.ts";
import type * as reservations from "../../reservations/ports/deps.ts";
import type { ApprovalTimes, BulkGrant } from "../rules/bulk-grant.ts";
import type {
  BulkGrantReader,
  BulkGrantStreams,
  BulkSources,
  PickUpSource,
  Reporter,
  SheetStore,
} from "./bulk-grants.ts";

export interface Reader extends reservations.Reader, BulkGrantReader {}

export interface Workflows extends reservations.Workflows {
  /** Starts the run of a bulk grant unless one is running. */
  startBulkGrant(bulkGrant: BulkGrant): Promise<void>;
  /** Signals the run of a bulk grant to read its record again; starts one if none is running. */
  refreshBulkGrant(bulkGrant: BulkGrant): Promise<void>;
  /** Creates the schedules that pick up the new files of sources, or updates those that differ. */
  ensurePickUp(source: PickUpSource): Promise<void>;
}

export interface Deps extends reservations.Deps {
  readonly sheets: SheetStore;
  readonly bulkGrantStreams: BulkGrantStreams;
  readonly reporter: Reporter;
  readonly approvalTimes: ApprovalTimes;
  /** The pace of the rows of this process, in which all bulk grants have the same share. */
  readonly awaitRowSlot: Pace;
  readonly reader: Reader;
  readonly workflows: Workflows;
}

/** The dependencies of a worker. Servers have no keys and no rights of the sources. */
export interface WorkerDeps extends Deps {
  readonly bulkSources: BulkSources;
}
