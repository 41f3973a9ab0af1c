/** Lists of reservations. */
import type { Reservation } from "../../domain/reservation.ts";
import type { Page, PageRequest, Window } from "./pages.ts";
import type { AccountName } from "./points.ts";

export interface ReservationReader {
  /** By execute time. Lags behind by moments. */
  reservationsOfUser(
    name: AccountName,
    window: Window,
    page: PageRequest,
  ): Promise<Page<Reservation>>;
  /** By execute time, merged from all shards. Lags behind by moments. */
  reservationsInState(
    programId: string,
    state: Reservation["state"],
    window: Window,
    page: PageRequest,
  ): Promise<Page<Reservation>>;
}
