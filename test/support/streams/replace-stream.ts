/** Makes a stream lose all that it has, on a DynamoDB Local that never trims one. */
import {
  DescribeTableCommand,
  type DynamoDBClient,
  UpdateTableCommand,
} from "@aws-sdk/client-dynamodb";
import { expect } from "vitest";
import { eventually } from "../fixtures/waiting.ts";

/** Switches the stream of a table off and on. */
export async function replaceStream(client: DynamoDBClient, TableName: string): Promise<void> {
  const streamOf = async () =>
    (await client.send(new DescribeTableCommand({ TableName }))).Table?.StreamSpecification;
  for (const StreamSpecification of [
    { StreamEnabled: false },
    { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" as const },
  ]) {
    await client.send(new UpdateTableCommand({ TableName, StreamSpecification }));
    await eventually(async () => {
      expect((await streamOf())?.StreamEnabled ?? false).toBe(StreamSpecification.StreamEnabled);
    });
  }
}
