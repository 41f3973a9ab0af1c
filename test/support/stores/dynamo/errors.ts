/** Makes the errors of DynamoDB, as the SDK throws them. */
import {
  type CancellationReason,
  ConditionalCheckFailedException,
  DynamoDBServiceException,
  TransactionCanceledException,
} from "@aws-sdk/client-dynamodb";
import type { Item } from "../../../../src/platform/dynamodb/sdk/attributes.ts";

const $metadata = { httpStatusCode: 400 };

export const refusal = (name: string, message: string): DynamoDBServiceException =>
  new DynamoDBServiceException({ name, message, $fault: "client", $metadata });

/** The error for a request that is a mistake of the program. */
export const invalid = (message: string): DynamoDBServiceException =>
  refusal("ValidationException", message);

export const conditionFailed = (item: Item | undefined): ConditionalCheckFailedException =>
  new ConditionalCheckFailedException({
    message: "The conditional request failed",
    $metadata,
    ...(item && { Item: item }),
  });

export const cancelled = (CancellationReasons: CancellationReason[]): Error =>
  new TransactionCanceledException({
    message: `Transaction cancelled: [${CancellationReasons.map(({ Code }) => Code).join(", ")}]`,
    $metadata,
    CancellationReasons,
  });
