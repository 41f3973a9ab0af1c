/** The payloads of purges: what their activities get. */
import type { z } from "zod";
import { payload, targetId, targetType, text } from "../../platform/contract/payloads.ts";

const target = { type: targetType, id: targetId };

/** Names a deleted target. */
export const targetInput = payload(target);
export type TargetInput = z.input<typeof targetInput>;

/** Purges reactions of one kind to a deleted target. */
export const purgeReactionsInput = payload({ ...target, kind: text });
