/** The record of a hold, and its name. */

import { type Ref, ref } from "../../platform/ports/records.ts";
import type { Hold } from "../rules/hold.ts";
import type { HoldName } from "./holds.ts";

declare module "../../platform/ports/records.ts" {
  interface Records {
    hold: Hold;
  }
}

export const holdRef = ({ programId, holdId }: HoldName): Ref<"hold"> =>
  ref("hold", programId, holdId);
