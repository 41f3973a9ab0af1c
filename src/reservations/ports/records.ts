/** The records of reservations, and their names. */

import { type Ref, ref } from "../../platform/ports/records.ts";
import type { Reservation } from "../rules/reservation.ts";

declare module "../../platform/ports/records.ts" {
  interface Records {
    reservation: Reservation;
  }
}

export const reservationRef = (programId: string, reservationId: string): Ref<"reservation"> =>
  ref("reservation", programId, reservationId);
