/** The records of what falls due, and their names. */
import { type Ref, ref } from "../../platform/ports/records.ts";
import type { DueHour, PendingStart, RecordName } from "./due.ts";

declare module "../../platform/ports/records.ts" {
  interface Records {
    pendingStart: PendingStart;
    dueHour: DueHour;
  }
}

/** The mark of a hold has one part more than that of a reservation. */
export const pendingStartRef = (name: RecordName): Ref<"pendingStart"> =>
  "holdId" in name
    ? ref("pendingStart", name.programId, "H", name.holdId)
    : ref("pendingStart", name.programId, name.reservationId);
export const dueHourRef = ({ programId, hour }: DueHour): Ref<"dueHour"> =>
  ref("dueHour", programId, hour);
