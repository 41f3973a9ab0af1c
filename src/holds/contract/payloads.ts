/** The payloads of holds: what their runs and activities get. */
import type { z } from "zod";
import {
  holdId,
  payload,
  points,
  programId,
  text,
  time,
  userId,
} from "../../platform/contract/payloads.ts";

const key = { program_id: programId, hold_id: holdId, user_id: userId };

/** Names a hold. The input of the activities of a hold. */
export const holdKey = payload(key);
export type HoldKey = z.input<typeof holdKey>;

/** Starts the workflow of one hold. Operators read it as the input of the run. */
export const holdInput = payload({
  ...key,
  points,
  /** In the zone of the program. Operators read it; the run goes by the record. */
  until: time,
  /** Why the points are held. Absent when no reason was given. */
  reason: text.optional(),
  /** The cause. Absent when none was given. */
  cause: text.optional(),
  /** Who holds them, as people read it. Absent in runs that were started by hand. */
  held_by: text.optional(),
});
export type HoldInput = z.input<typeof holdInput>;
