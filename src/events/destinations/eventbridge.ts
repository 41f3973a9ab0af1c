/** Sends events to a bus of EventBridge, whose rules lead them on. A bus keeps no order. */
import { EventBridgeClient, PutEventsCommand } from "@aws-sdk/client-eventbridge";
import type { Destination } from "../ports/deliveries.ts";
import { awsDestination, clientOptions } from "./aws.ts";
import type { DefinitionOf } from "./definitions.ts";

export function createEventBridgeDestination(definition: DefinitionOf<"eventbridge">): Destination {
  const client = new EventBridgeClient(clientOptions(definition));
  return awsDestination(client, async (events, abortSignal) => {
    const command = new PutEventsCommand({
      Entries: events.map(({ type, text }) => ({
        EventBusName: definition.bus,
        Source: "meguri",
        DetailType: type,
        Detail: text,
      })),
    });
    // The answer has one entry for each of the request, in its order.
    const { Entries = [] } = await client.send(command, { abortSignal });
    return events.map((_, i) =>
      Entries[i]?.EventId === undefined
        ? { reason: `answered ${Entries[i]?.ErrorCode ?? "without this event"}` }
        : undefined,
    );
  });
}
