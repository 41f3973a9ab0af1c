/** The records of events: how far each subscription has come. */

import { type Ref, ref } from "../../platform/ports/records.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { TimedPosition } from "./log.ts";

/** The position before which all events of a subscription are delivered, and how it is doing. */
export interface SubscriptionState extends TimedPosition {
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
