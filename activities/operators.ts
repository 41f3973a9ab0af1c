/** Who acts by an Update of a workflow. */
import type { Caller } from "../src/domain/caller.ts";

const service = "temporal";

/**
 * The caller of an Update. The service is always "temporal", because Meguri does not verify the
 * name that an Update claims. That name is the subject; "temporal" when the operator gives none.
 */
export const fromTemporal = (name: string | undefined): Caller => ({
  service,
  subject: name || service,
});
