/** Follows the events of the program, as another service would. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Embedded } from "./embedded.ts";
import { programId } from "./play.ts";

const patienceMs = 60_000;

/**
 * Reads events from the oldest on until those of so many ledger entries have come, and returns how
 * many entries they are of. An event that comes twice has the same id.
 */
export async function followEntries(
  { events }: Pick<Embedded, "events">,
  entries: number,
): Promise<number> {
  const limit = Date.now() + patienceMs;
  const seen = new Set<string>();
  let from: { readonly cursor: string } | undefined;
  while (seen.size < entries && Date.now() < limit) {
    const { events: found, cursor } = await events.readEvents({
      programId,
      ...(from ?? { startTime: timestampFromMs(1_000) }),
      maxWait: { seconds: 5n },
      pageSize: 1_000,
    });
    for (const { id, data } of found) {
      if (data.case === "entryRecorded") seen.add(id);
    }
    from = { cursor };
  }
  return seen.size;
}
