/** Makes the destinations of all subscriptions, by their types. */
import type { Logger } from "../../platform/observe/log.ts";
import type { Destination, Subscription } from "../ports/deliveries.ts";
import { type SubscriptionDefinition, subscriptionOf } from "./definitions.ts";
import { createEventBridgeDestination } from "./eventbridge.ts";
import { createHttpDestination } from "./http.ts";
import { createSnsDestination } from "./sns.ts";
import { createSqsDestination } from "./sqs.ts";

/** A subscription, and where its events go. */
interface Subscribed {
  readonly subscription: Subscription;
  readonly destination: Destination;
}

/** Throws an error that names every subscription whose secrets cannot be read, and why. */
export function createDestinations(
  definitions: readonly SubscriptionDefinition[],
  log: Logger,
): readonly Subscribed[] {
  const created: Subscribed[] = [];
  const problems: string[] = [];
  for (const definition of definitions) {
    try {
      const destination = createDestination(definition, log);
      created.push({ subscription: subscriptionOf(definition), destination });
    } catch (error) {
      problems.push(`subscription ${definition.name}: ${(error as Error).message}`);
    }
  }
  if (problems.length === 0) return created;
  for (const { destination } of created) destination.close();
  throw new Error(problems.join("\n"));
}

function createDestination(definition: SubscriptionDefinition, log: Logger): Destination {
  switch (definition.type) {
    case "http":
      return createHttpDestination(definition, log.child({ subscription: definition.name }));
    case "eventbridge":
      return createEventBridgeDestination(definition);
    case "sqs":
      return createSqsDestination(definition);
    case "sns":
      return createSnsDestination(definition);
  }
}
