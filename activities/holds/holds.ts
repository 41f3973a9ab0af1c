/** The activities that release a hold: at its time, and for operators. */

import type { HoldStep } from "../../src/holds/contract/holds.ts";
import { holdKey } from "../../src/holds/contract/payloads.ts";
import type { Hold } from "../../src/holds/rules/hold.ts";
import { releaseHold } from "../../src/holds/use-cases/commands.ts";
import { timeOutHold } from "../../src/holds/use-cases/time-out.ts";
import type { Deps } from "../../src/hub/deps.ts";
import type { ChangeView } from "../../src/platform/contract/changes.ts";
import { changeInput } from "../../src/platform/contract/payloads.ts";
import { formatInstant } from "../../src/platform/words/month.ts";
import { entryRef } from "../../src/points/ports/records.ts";
import { checked } from "../checked.ts";
import { fromTemporal } from "../operators.ts";

export function holdActivities(deps: Deps) {
  async function toStep(hold: Hold): Promise<HoldStep> {
    const { timeZone } = await deps.programs.get(hold.programId);
    const release = await releaseOf(hold, timeZone);
    return {
      state: hold.state,
      until: formatInstant(hold.until, timeZone),
      captured_points: hold.capturedPoints,
      released_points: hold.release?.points ?? 0,
      release,
    };
  }

  /** Who released a hold: the ledger has it. Undefined for a hold that has ended otherwise. */
  async function releaseOf(hold: Hold, timeZone: string): Promise<ChangeView | undefined> {
    const { programId, userId, state, release } = hold;
    if (state !== "RELEASED" || !release) return undefined;
    const entry = await deps.reader.get(entryRef(programId, userId, release.entryNumber));
    if (!entry) return undefined;
    const { caller, createTime, reason } = entry.value;
    return { caller, time: formatInstant(createTime, timeZone), reason };
  }

  return {
    /** Releases the hold if it is due. Returns it as it is now. */
    timeOutHold: checked([holdKey], async (name) => toStep((await timeOutHold(deps, name)).hold)),

    /** Releases the hold, as the RPC does. Returns it as it is then. */
    releaseHold: checked([holdKey, changeInput], async (name, { reason = "" }) => {
      const request = { ...name, caller: fromTemporal(undefined), reason };
      return toStep((await releaseHold(withoutSignal(deps), request)).hold);
    }),
  };
}

/** The run that has the hold released reads its record again by itself, so it needs no signal. */
const withoutSignal = (deps: Deps): Deps => ({
  ...deps,
  workflows: { ...deps.workflows, refreshHold: async () => {} },
});
