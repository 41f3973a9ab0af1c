/** The id of an installation, by which its tables and its namespace know each other. */
import { setTimeout as sleep } from "node:timers/promises";
import { ScheduleNotFoundError } from "@temporalio/client";
import { installationRef, type RecordReader } from "../platform/ports/records.ts";
import type { Link } from "../platform/temporal/connection.ts";
import { reconcileId } from "../reservations/contract/reconciler.ts";

/** The tables and the namespace belong to different installations. */
export class InstallationsDiffer extends Error {
  /** What an operator has to do. */
  readonly advice =
    "Correct MEGURI_TABLE_PREFIX, AWS_REGION, MEGURI_DYNAMODB_ENDPOINT or " +
    "MEGURI_TEMPORAL_NAMESPACE; docs/run/runbook.md#wrong-tables has more.";
}

type Reader = Pick<RecordReader, "get">;

/** The memo of the reconciler's schedule, which a namespace of Temporal Cloud can have, too. */
export const installationMemo = (installation: string) => ({ installation });

/** The id that the namespace has; undefined before its first setup. */
async function idOfNamespace(link: Link): Promise<string | undefined> {
  const { client, call } = link;
  await link.scheduleTurn();
  try {
    const { memo } = await call(() => client.schedule.getHandle(reconcileId).describe());
    return memo?.installation as string | undefined;
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return undefined;
    throw error;
  }
}

/** The id that the tables have; undefined before their first setup. */
export const idOfTables = async (reader: Reader): Promise<string | undefined> =>
  (await reader.get(installationRef))?.value.id;

/**
 * Returns the id of both; undefined when the namespace has none. Throws InstallationsDiffer when
 * the namespace belongs to an installation, and the tables to another one or to none, as with a
 * wrong prefix or region; and STORE_REFUSES for missing tables.
 */
export async function compareInstallations(
  link: Link,
  reader: Reader,
): Promise<string | undefined> {
  const ofNamespace = await idOfNamespace(link);
  if (ofNamespace === undefined) return undefined;
  const ofTables = await idOfTables(reader);
  if (ofTables === ofNamespace) return ofNamespace;
  throw new InstallationsDiffer(
    `the namespace ${link.namespace} belongs to the installation ${ofNamespace}, and the ` +
      `tables to ${ofTables ?? "none"}`,
  );
}

/** How long to wait before store and Temporal are asked again. */
const pauseMs = 15_000;

/** A process starts its work after this time although the store or Temporal has not answered. */
const startMs = 3_000;

/**
 * Ends the process if its tables and its namespace belong to different installations. Returns after
 * the comparison, or when that takes long; it then goes on until both answer, or until the signal.
 */
export async function endIfDifferent(
  link: Link,
  reader: Reader,
  signal: AbortSignal,
): Promise<void> {
  const comparing = compareWhenAnswered(link, reader, signal).catch((error: unknown) => {
    if (!(error instanceof InstallationsDiffer)) return;
    process.stderr.write(`${error.message}. ${error.advice}\n`);
    process.exit(1);
  });
  const started = new AbortController();
  // The timer keeps the process alive: nothing else does before it listens.
  const late = sleep(startMs, undefined, { signal: started.signal }).catch(() => {});
  await Promise.race([comparing, late]);
  started.abort();
}

async function compareWhenAnswered(link: Link, reader: Reader, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await compareInstallations(link, reader);
      return;
    } catch (error) {
      if (error instanceof InstallationsDiffer) throw error;
    }
    await sleep(pauseMs, undefined, { signal, ref: false });
  }
}
