/** Which IAM actions, on which resources, AWS asks for when a command of the SDK is sent. */
import type { Item } from "../../../src/platform/dynamodb/sdk/attributes.ts";

/** An action and its resource: `dynamodb:Query points/index/expiry`. */
export type Access = `${string}:${string} ${string}`;

/** An access that a command needs. */
export interface Need {
  readonly access: Access;
  /** The partition keys of what it writes, which conditions of policies may restrict. */
  readonly leadingKeys: readonly string[];
}

/** A part of a transaction, or the input of a command for one item. */
interface Keyed {
  readonly TableName?: string;
  readonly Key?: Item;
  readonly Item?: Item;
}

type WriteRequest = Readonly<Record<string, Keyed>>;

interface Input extends Keyed {
  readonly IndexName?: string;
  readonly TransactItems?: readonly Readonly<Record<string, Keyed>>[];
  /** Arrays in BatchWriteItem. */
  readonly RequestItems?: Readonly<Record<string, readonly WriteRequest[] | object>>;
}

/** The actions that the parts of a transaction need. A transaction has no action of its own. */
const partActions: Readonly<Record<string, string>> = {
  Get: "GetItem",
  Put: "PutItem",
  Update: "UpdateItem",
  Delete: "DeleteItem",
  ConditionCheck: "ConditionCheckItem",
};

/** What a command of DynamoDB needs. Resources are tables and indexes by their full names. */
export function dynamoDbNeeds(command: string, input: Input): Need[] {
  const { TableName, IndexName, TransactItems, RequestItems } = input;
  if (TransactItems) {
    return TransactItems.flatMap(Object.entries).map(([part, keyed]) => ({
      access: `dynamodb:${partActions[part]} ${keyed.TableName}`,
      leadingKeys: leadingKeysOf([keyed]),
    }));
  }
  if (RequestItems) {
    return Object.entries(RequestItems).map(([table, requests]) => ({
      access: `dynamodb:${command} ${table}`,
      leadingKeys: Array.isArray(requests) ? leadingKeysOf(requests.flatMap(Object.values)) : [],
    }));
  }
  const index = IndexName === undefined ? "" : `/index/${IndexName}`;
  const access = `dynamodb:${command} ${TableName ?? "*"}${index}` as const;
  return [{ access, leadingKeys: leadingKeysOf([input]) }];
}

const leadingKeysOf = (all: readonly Keyed[]): string[] =>
  all.flatMap(({ Key, Item = Key }) => Item?.pk?.S ?? []);

/** What a command of DynamoDB Streams needs. An iterator names the stream that it reads, too. */
export function streamsAccess(
  command: string,
  { StreamArn, ShardIterator }: { readonly StreamArn?: string; readonly ShardIterator?: string },
): Access {
  const [, table] = /:table\/([^/]+)\/stream\//.exec(StreamArn ?? ShardIterator ?? "") ?? [];
  return `dynamodb:${command} ${table === undefined ? "*" : `${table}/stream/*`}`;
}

/** What subscriptions name as their destinations. */
interface Destinations {
  readonly QueueUrl?: string;
  readonly TopicArn?: string;
  readonly Entries?: readonly { readonly EventBusName?: string }[];
}

/** What a command of SQS, SNS or EventBridge needs: a batch needs the right to its parts. */
export function destinationAccess(command: string, input: Destinations): Access[] {
  const { QueueUrl, TopicArn, Entries = [] } = input;
  const action = command.replace(/Batch$/, "");
  if (QueueUrl !== undefined) return [`sqs:${action} ${lastPart(QueueUrl)}`];
  if (TopicArn !== undefined) return [`sns:${action} ${lastPart(TopicArn)}`];
  const buses = new Set(Entries.map(({ EventBusName = "default" }) => lastPart(EventBusName)));
  return [...buses].map((bus) => `events:${action} ${bus}` as const);
}

/** The name at the end of an ARN or URL. */
const lastPart = (name: string): string => name.split(/[/:]/).at(-1) ?? name;

/** What a command of S3 needs. Resources are `bucket` and `bucket/*`. */
export function s3Access(command: string, { Bucket = "" }: { readonly Bucket?: string }): Access[] {
  switch (command) {
    case "ListObjectsV2":
      return [`s3:ListBucket ${Bucket}`];
    case "HeadObject":
      // Without the right to list, S3 answers 403 instead of 404 for an object that is not there.
      return [`s3:GetObject ${Bucket}/*`, `s3:ListBucket ${Bucket}`];
    case "CopyObject":
      // The sources copy within their bucket.
      return [`s3:GetObject ${Bucket}/*`, `s3:PutObject ${Bucket}/*`];
    default:
      return [`s3:${command} ${Bucket}/*`];
  }
}
