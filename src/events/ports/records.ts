/** The records of events: how far each subscription has come. */

import { type Ref, ref } from "../../platform/ports/records.ts";
import type { Instant } from "../../platform/words/month.ts";

/** How far a subscription has come. */
export interface SubscriptionState {
  /** All events before this place of the log have been delivered. */
  readonly logId: string;
  /** The number of the batch, and the index of the next event in it. */
  readonly number: number;
  readonly index: number;
  /** When this batch was appended, or the one before; absent when that is not known. */
  readonly time?: Instant | undefined;
  /** When the first of the failures without a success in between was; absent while it works. */
  readonly failingSince?: Instant | undefined;
  /** Why the last attempt has failed, as operators read it. */
  readonly failure?: string | undefined;
  /** Since when it is only tried from time to time. */
  readonly pausedSince?: Instant | undefined;
}

declare module "../../platform/ports/records.ts" {
  interface Records {
    subscription: SubscriptionState;
  }
}

/** Names the state of a subscription by its name in the file of operators. */
export const subscriptionRef = (name: string): Ref<"subscription"> => ref("subscription", name);
