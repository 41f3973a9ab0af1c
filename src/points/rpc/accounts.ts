/** Reads the account that a request names. */
import { toProgramId } from "../../platform/words/program-ids.ts";
import type { AccountName } from "../ports/points.ts";

/** The account that a request names. */
export const toAccount = (request: {
  readonly programId: string;
  readonly userId: string;
}): AccountName => ({ programId: toProgramId(request.programId), userId: request.userId });
