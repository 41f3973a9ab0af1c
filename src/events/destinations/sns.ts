/** Sends events to a FIFO topic of SNS, where those of one subject keep their order. */
import { PublishBatchCommand, SNSClient } from "@aws-sdk/client-sns";
import type { Destination } from "../ports/deliveries.ts";
import { awsDestination, clientOptions, fifoEntry, outcomesOf, queueText } from "./aws.ts";
import type { DefinitionOf } from "./definitions.ts";

export function createSnsDestination(definition: DefinitionOf<"sns">): Destination {
  const client = new SNSClient(clientOptions(definition));
  return awsDestination(client, async (events, abortSignal) => {
    const command = new PublishBatchCommand({
      TopicArn: definition.topic_arn,
      PublishBatchRequestEntries: events.map((event, i) => ({
        ...fifoEntry(event, i),
        Message: queueText(event),
      })),
    });
    return outcomesOf(events, await client.send(command, { abortSignal }));
  });
}
