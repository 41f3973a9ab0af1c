/** The events of an upgrade, and the check that they tell all that is stored. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Meguri } from "@meguri/client";
import { expect } from "vitest";
import { Personal } from "../../../src/gen/meguri/access/v1/access_pb.ts";
import { defaultProgramId } from "../../../src/platform/words/program-ids.ts";
import { differences } from "../events/compare.ts";
import { EventCopy } from "../events/copy.ts";
import { eventually } from "../fixtures/waiting.ts";
import type { Fleet } from "./fleet.ts";

/** It was made before the streams were there, and nothing has changed it since. */
const untold = `program ${defaultProgramId}: is not in the copy`;

/** The earliest instant that a request takes. */
const oldestMs = 1_000;

/**
 * Follows all events until the copy that they make equals the tables, whichever version has written
 * and read what is in them. Nothing may have been lost, and no change may be unreadable.
 */
export async function checkEvents(
  { events }: Meguri,
  { readTables }: Pick<Fleet, "readTables">,
): Promise<void> {
  const copy = new EventCopy();
  const over = new AbortController();
  const following = follow(events, copy, over.signal);
  const compare = async () => {
    const wrong = differences(copy, await readTables(), new Map());
    expect(wrong.filter((what) => what !== untold)).toEqual([]);
  };
  try {
    await Promise.race([eventually(compare), following]);
  } finally {
    over.abort();
    await following;
  }
  expect(copy.counts.events).toBeGreaterThan(0);
  expect(copy.counts.gaps).toBe(0);
}

async function follow(events: Meguri["events"], copy: EventCopy, signal: AbortSignal) {
  const include = [Personal.REASON, Personal.DISPLAY_NAME, Personal.TEXT];
  const everything = { allPrograms: true, startTime: timestampFromMs(oldestMs), include };
  try {
    for await (const event of events.follow(everything, { signal })) copy.add(event);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
