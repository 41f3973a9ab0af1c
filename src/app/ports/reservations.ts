/** Lists of reservations. */
import type { Reservation } from "../../domain/reservation.ts";
import type { Page, PageRequest, Window } from "./pages.ts";
import type { AccountName } from "./points.ts";

export interface ReservationReader {
  /** Lists a user's reservations by execute time. Lags behind by moments. */
  reservationsOfUser(
    name: AccountName,
    window: Window,
    page: PageRequest,
  ): Promise<Page<Reservation>>;
  /** Lists by execute time, merged from all shards. Lags behind by moments. */
  reservationsInState(
    programId: string,
    state: Reservation["state"],
    window: Window,
    page: PageRequest,
  ): Promise<Page<Reservation>>;
}
