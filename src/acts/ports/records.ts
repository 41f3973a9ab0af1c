/** The record of an act, and its name. */
import { type Ref, ref } from "../../platform/ports/records.ts";
import type { Act } from "../rules/act.ts";

declare module "../../platform/ports/records.ts" {
  interface Records {
    act: Act;
  }
}

/** A call makes one act in a transaction. */
export const actRef = ({ programId, time, requestId }: Act): Ref<"act"> =>
  ref("act", programId, time, requestId);
