/** The use case that forecasts what an account will hold. */
import {
  type Forecast,
  forecast,
  isOutstanding,
  requireForecastable,
} from "../../domain/forecast.ts";
import type { Instant } from "../../domain/month.ts";
import type { Reservation } from "../../domain/reservation.ts";
import type { Deps } from "../ports/deps.ts";
import { allPages, inBatches } from "../ports/pages.ts";
import type { AccountName } from "../ports/points.ts";
import { accountRef, reservationRef } from "../ports/records.ts";
import { requireTime } from "../shared/deadlines.ts";

const pageSize = 200;

/** How many reservations are read at once. */
const readSize = 100;

/**
 * Forecasts the balance at `time`, and says whether the account is frozen now. Reservations that
 * were changed a moment ago may be missing. Those that are found are neither lost nor counted twice
 * when they are granted meanwhile: their records are read again after the account, and a grant that
 * the account does not have yet has a later entry number. Refusals: PROGRAM_NOT_FOUND, and those of
 * `forecast`.
 */
export async function getForecast(
  deps: Pick<Deps, "reader" | "clock" | "programs">,
  name: AccountName,
  time: Instant,
  deadline: number | undefined,
): Promise<Forecast & { readonly frozen: boolean }> {
  const { programId, userId } = name;
  const program = await deps.programs.get(programId);
  const ids = await pendingIds(deps, name, time, deadline);
  const account = (await deps.reader.get(accountRef(programId, userId)))?.value;
  const reservations = await readReservations(deps, programId, ids);
  const outstanding = reservations.filter((each) => isOutstanding(each, account?.last ?? 0));
  const { calendar: now } = await deps.clock.now();
  const found = forecast({ program, userId, account, now }, outstanding, time);
  return { ...found, frozen: account?.frozen ?? false };
}

/** The ids of the user's pending reservations up to `time`, by the index, which lags behind. */
async function pendingIds(
  { reader }: Pick<Deps, "reader">,
  name: AccountName,
  time: Instant,
  deadline: number | undefined,
): Promise<string[]> {
  const ids: string[] = [];
  const window = { start: undefined, end: time + 1 };
  const pages = allPages(pageSize, (page) =>
    reader.reservationsOfUserInState(name, "PENDING", window, page),
  );
  for await (const reservations of pages) {
    requireTime(deadline);
    const pending = reservations.filter(({ state }) => state === "PENDING");
    ids.push(...pending.map(({ reservationId }) => reservationId));
    requireForecastable(ids.length);
  }
  return ids;
}

async function readReservations(
  { reader }: Pick<Deps, "reader">,
  programId: string,
  ids: readonly string[],
): Promise<Reservation[]> {
  const reservations: Reservation[] = [];
  for (const batch of inBatches(ids, readSize)) {
    const read = await reader.many(batch.map((id) => reservationRef(programId, id)));
    reservations.push(...read.filter((each) => each !== undefined));
  }
  return reservations;
}
