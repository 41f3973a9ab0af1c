/** The id of an installation, which its setup has made and which its events name. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../platform/observe/log.ts";
import { installationRef, type RecordReader } from "../../platform/ports/records.ts";

/** How long to wait before the store is asked again. */
const pauseMs = 5_000;

/** Waits until the store says it. Undefined when the signal aborts before. */
export async function awaitInstallation(
  reader: Pick<RecordReader, "get">,
  log: Logger,
  signal: AbortSignal,
): Promise<string | undefined> {
  while (!signal.aborted) {
    try {
      const found = await reader.get(installationRef);
      if (found) return found.value.id;
      log.warn("the tables belong to no installation; waiting for the setup");
    } catch (err) {
      log.warn({ err }, "the installation could not be read; trying again");
    }
    await sleep(pauseMs, undefined, { signal }).catch(() => {});
  }
  return undefined;
}
