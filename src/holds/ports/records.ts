/** The record of a hold, and its name. */

import type { HoldName } from "../../due/ports/due.ts";
import { type Ref, ref } from "../../platform/ports/records.ts";
import type { Hold } from "../rules/hold.ts";

declare module "../../platform/ports/records.ts" {
  interface Records {
    hold: Hold;
  }
}

export const holdRef = ({ programId, holdId }: HoldName): Ref<"hold"> =>
  ref("hold", programId, holdId);
