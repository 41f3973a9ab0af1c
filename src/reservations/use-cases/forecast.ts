/** The use case that forecasts what an account will hold. */

import type { CallLimits } from "../../platform/ports/call.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { Points } from "../../platform/words/units.ts";
import type { AccountName } from "../../points/ports/points.ts";
import { heldNow, noTotals } from "../../points/rules/ledger.ts";
import type { Deps } from "../ports/deps.ts";
import { type Forecast, forecast } from "../rules/forecast.ts";
import { readOutstanding } from "./outstanding.ts";

/**
 * Forecasts the balance at `time`, and says whether the account is frozen now and how many points
 * are held, of which the forecast counts none. Refusals: PROGRAM_NOT_FOUND, and those of `forecast`
 * and `readOutstanding`.
 */
export async function getForecast(
  deps: Pick<Deps, "reader" | "clock" | "programs">,
  name: AccountName,
  time: Instant,
  call: CallLimits,
): Promise<Forecast & { readonly frozen: boolean; readonly heldPoints: Points }> {
  const { programId, userId } = name;
  const program = await deps.programs.get(programId);
  const { stored, reservations } = await readOutstanding(deps, name, time, call);
  const account = stored?.value;
  const { calendar: now } = await deps.clock.now();
  const found = forecast({ program, userId, account, now }, reservations, time);
  const heldPoints = heldNow(account?.totals ?? noTotals);
  return { ...found, frozen: account?.frozen ?? false, heldPoints };
}
