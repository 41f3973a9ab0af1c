/** Sends events to a FIFO queue of SQS, where those of one subject keep their order. */
import { SendMessageBatchCommand, SQSClient } from "@aws-sdk/client-sqs";
import type { Destination } from "../ports/deliveries.ts";
import { awsDestination, clientOptions, fifoEntry, outcomesOf, queueText } from "./aws.ts";
import type { DefinitionOf } from "./definitions.ts";

export function createSqsDestination(definition: DefinitionOf<"sqs">): Destination {
  const client = new SQSClient(clientOptions(definition));
  return awsDestination(client, async (events, abortSignal) => {
    const command = new SendMessageBatchCommand({
      QueueUrl: definition.queue_url,
      Entries: events.map((event, i) => ({
        ...fifoEntry(event, i),
        MessageBody: queueText(event),
      })),
    });
    return outcomesOf(events, await client.send(command, { abortSignal }));
  });
}
