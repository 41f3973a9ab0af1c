/** The payloads of purges: what their activities get. */
import type { z } from "zod";
import { id, kind, payload } from "../../platform/contract/payloads.ts";

const target = { type: kind, id };

/** Names a deleted target. */
export const targetInput = payload(target);
export type TargetInput = z.input<typeof targetInput>;

/** Purges reactions of one kind to a deleted target. */
export const purgeReactionsInput = payload({ ...target, kind });
