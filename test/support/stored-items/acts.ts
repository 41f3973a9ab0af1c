/** Audited calls, which store acts. */
import type { Caller } from "../../../src/platform/words/caller.ts";
import { freezeAccount, unfreezeAccount } from "../../../src/points/use-cases/commands.ts";
import { updateProgram } from "../../../src/points/use-cases/programs/commands.ts";
import {
  cancelReservation,
  createReservation,
} from "../../../src/reservations/use-cases/commands.ts";
import { alice, programId, shop } from "./points.ts";
import type { Recorder } from "./recorder.ts";

export async function storeActs({ deps, clock, step }: Recorder): Promise<void> {
  const audit = (method: string, caller: Caller = alice) =>
    ({ caller, via: "CALL", method, requestId: `request-${method}` }) as const;
  const byTemporal = (method: string, subject: string) => ({
    ...audit(method, { service: "temporal", subject }),
    ...({ via: "TEMPORAL", requestId: "run-1/7" } as const),
  });
  await step("propose the longest lifetime, audited", () =>
    updateProgram(deps, {
      ...{ programId, caller: shop, rules: { lifetimeMonths: 36 } },
      audit: audit("UpdateProgram", shop),
    }),
  );
  const frozen = { programId, userId: "ann", caller: alice, deadline: undefined };
  await step("freeze an account, audited", () =>
    freezeAccount(deps, {
      ...{ ...frozen, eventId: "audited-f", reason: "review" },
      audit: audit("FreezeAccount"),
    }),
  );
  // The operator is a member, too.
  await step("unfreeze it, audited", () =>
    unfreezeAccount(deps, {
      ...{ ...frozen, eventId: "audited-u", reason: "" },
      audit: audit("UnfreezeAccount", { service: "desk", subject: "bo" }),
    }),
  );
  const reservation = { programId, reservationId: "r-audited", deadline: undefined };
  await step("reserve for a cancellation", () =>
    createReservation(deps, {
      ...{ ...reservation, userId: "cy", points: 10, reason: "", caller: alice },
      executeTime: clock.time + 3_600_000,
    }),
  );
  await step("cancel it by Temporal, audited", () => {
    const by = byTemporal("CancelReservation", "carol");
    return cancelReservation(deps, { ...reservation, caller: by.caller, reason: "", audit: by });
  });
}
