/** The client of DynamoDB Streams of a process. */
import { DynamoDBStreamsClient } from "@aws-sdk/client-dynamodb-streams";
import { usesLocalCredentials } from "../../platform/dynamodb/sdk/client.ts";
import { createConnections } from "../../platform/dynamodb/sdk/connections.ts";

interface StreamsConfig {
  /** Undefined: AWS in this region. DynamoDB Local serves streams at the address of its tables. */
  readonly endpoint: string | undefined;
  readonly region: string;
}

/** Sends once, because each shard is tried again by itself. */
export const createStreamsClient = ({ endpoint, region }: StreamsConfig): DynamoDBStreamsClient =>
  new DynamoDBStreamsClient({
    region,
    maxAttempts: 1,
    cacheMiddleware: true,
    requestHandler: createConnections(),
    ...(endpoint && { endpoint }),
    ...(usesLocalCredentials(endpoint) && {
      credentials: { accessKeyId: "local", secretAccessKey: "local" },
    }),
  });
