/** The world of the campaigns: a store, Temporal with its workers, and two folders of files. */

import {
  bulkGrantWorkflowId,
  bulkRefreshSignal,
} from "../../../src/bulk-grants/contract/bulk-grants.ts";
import type { BulkSources } from "../../../src/bulk-grants/ports/bulk-grants.ts";
import type { BulkGrantName } from "../../../src/bulk-grants/rules/bulk-grant.ts";
import { createBulkSources } from "../../../src/bulk-grants/sources/bulk-sources.ts";
import type { SourceDefinition } from "../../../src/bulk-grants/sources/definitions.ts";
import type { WorkerDeps, Workflows } from "../../../src/hub/deps.ts";
import { CommitEngine } from "../../../src/platform/engine/engine.ts";
import type { Write } from "../../../src/platform/engine/item-store.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { createProgramCache } from "../../../src/points/runtime/program-cache.ts";
import { createProgram } from "../../../src/points/use-cases/programs/commands.ts";
import { bulkGrant } from "../../../workflows/bulk-grants/bulk-grant.ts";
import { pickUpSheets } from "../../../workflows/bulk-grants/pick-up-sheets.ts";
import { enforceRules } from "../fixtures/bulk-rules.ts";
import { memoryDeps } from "../stores/memory-store.ts";
import { Audit, programId } from "./campaigns-audit.ts";
import { createFolder, type Folder } from "./campaigns-folder.ts";
import { type Fate, linkedReader, linkedStore, lost, observed, pause } from "./campaigns-links.ts";
import { createWorkers, type StartProcess } from "./campaigns-workers.ts";
import { slotsOf } from "./cancelled-runs.ts";
import { currentRun, MemoryTemporal } from "./memory-temporal.ts";
import { randomFrom } from "./random.ts";

/** The folders by the name of their source; that of night jobs has ids from content. */
export const sourceNames = ["inbox", "night"] as const;
export type SourceName = (typeof sourceNames)[number];

export interface World {
  readonly audit: Audit;
  readonly temporal: MemoryTemporal;
  /** The dependencies of a server. */
  readonly deps: WorkerDeps;
  /** The same, without anything between it and the store. */
  readonly near: WorkerDeps;
  readonly folders: Readonly<Record<SourceName, Folder>>;
  /** Starts a pick-up beside any other one. Resolves when it has ended, complete or not. */
  pickUp(source: SourceName): Promise<void>;
  /** The number of attempts that are under way. */
  attempts(): number;
}

const hour = 3_600_000;
/** Longer than the other waits of a history, and shorter than its longest ones. */
const approvalTimes = { reminderMs: hour, expiryMs: 4 * hour };

/** Creates a world without files. Runs continue as new after `longAfter` activities. */
export async function createWorld(
  seed: number,
  fates: readonly (Fate | undefined)[],
  longAfter: number,
): Promise<World> {
  const random = randomFrom(seed);
  const hop = () => pause(1 + Math.floor(random() * 5));
  const audit = new Audit();
  const memory = memoryDeps({ random });
  const { deps: rest } = memory;
  await createProgram(rest, { programId, timeZone: "Asia/Tokyo", lifetimeMonths: 12 });
  const store = observed(memory.store.itemStore, (writes) => audit.committed(writes));
  const clock = { now: async () => ({ wall: Date.now(), calendar: Date.now() }) };
  const { folders, bulkSources } = createFolders(audit, hop);

  const start: StartProcess = (fate, isDead) => {
    const onSent = (writes: readonly Write[]) => audit.sent(writes);
    const link = { hop, isDead, random, onSent, fate };
    const reader = linkedReader(rest.reader, link);
    const engine = new CommitEngine({ store: linkedStore(store, link), clock, random });
    return {
      ...rest,
      engine,
      readAhead: (requests) => engine.readAhead(requests),
      reader,
      clock,
      programs: createProgramCache(reader, true),
      sheets: {
        ...rest.sheets,
        async putBlock(uploadId, block, rows) {
          await hop();
          audit.stored(uploadId, rows);
          await rest.sheets.putBlock(uploadId, block, rows);
        },
      },
      bulkSources,
      workflows: { ...rest.workflows, ...runsOf(temporal, audit, hop, random) },
      approvalTimes,
      reporter: {
        ...rest.reporter,
        send: async (report) => audit.reported(report),
      },
      awaitRowSlot: fate ? slotsOf(fate) : hop,
    };
  };
  let attempts = 0;
  const count = (by: number, isAtRows: boolean) => {
    attempts += by;
    if (isAtRows) audit.attempts += by;
  };
  const temporal = new MemoryTemporal(createWorkers(start, fates, count), longAfter);
  const near = { ...rest, engine: new CommitEngine({ store, clock, random }) };
  await enforceRules(near, programId, { sources: sourceNames });
  return {
    audit,
    temporal,
    deps: start(undefined, () => false),
    near,
    folders,
    pickUp: pickUpsOf(temporal, audit),
    attempts: () => attempts,
  };
}

const definitionOf = (name: SourceName): SourceDefinition => ({
  name,
  type: "folder",
  path: `/${name}`,
  identity: name,
  programs: [programId],
  pick_up: {
    program_id: programId,
    cron: "* * * * *",
    time_zone: "UTC",
    ids: name === "night" ? "content" : "name",
  },
});

/** Makes the folders, and the port that serves them. */
function createFolders(audit: Audit, hop: () => Promise<void>) {
  const folderOf = (name: SourceName) =>
    createFolder(
      {
        opened: (file) => audit.opened(currentRun()?.id, name, file),
        moved: (file, to) => audit.moved(currentRun(), name, file, to),
      },
      hop,
    );
  const folders = { inbox: folderOf("inbox"), night: folderOf("night") };
  const unused = () => folders.inbox.source;
  const bulkSources: BulkSources = createBulkSources(sourceNames.map(definitionOf), {
    folder: ({ path }) => folders[path.slice(1) as SourceName].source,
    s3: unused,
    drive: unused,
  });
  return { folders, bulkSources };
}

/** The client side of Temporal, whose signals may be lost. */
function runsOf(
  temporal: MemoryTemporal,
  audit: Audit,
  hop: () => Promise<void>,
  random: () => number,
): Pick<Workflows, "startBulkGrant" | "refreshBulkGrant"> {
  async function startBulkGrant({ programId: program_id, bulkGrantId }: BulkGrantName) {
    const id = bulkGrantWorkflowId(program_id, bulkGrantId);
    const input = { program_id, bulk_grant_id: bulkGrantId };
    temporal.start(id, bulkGrant, input).catch((error) => audit.ended(id, error));
  }
  return {
    startBulkGrant,
    async refreshBulkGrant(name) {
      await hop();
      if (random() < lost) throw new DomainError("WORKFLOWS_UNAVAILABLE", "the signal is lost");
      await startBulkGrant(name);
      temporal.signal(bulkGrantWorkflowId(name.programId, name.bulkGrantId), bulkRefreshSignal);
    },
  };
}

/** Starts pick-ups under ids of their own. */
function pickUpsOf(temporal: MemoryTemporal, audit: Audit): World["pickUp"] {
  let count = 0;
  return async (source) => {
    count += 1;
    const id = `pick-up/${source}/${count}`;
    const input = { source_name: source, program_id: programId };
    try {
      audit.pickedUp(id, await temporal.start(id, pickUpSheets, input));
    } catch (error) {
      audit.ended(id, error);
    }
  };
}
