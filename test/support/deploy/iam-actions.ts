/** Which IAM actions, on which resources, AWS asks for when a command of the SDK is sent. */

/** An action and its resource: `dynamodb:Query points/index/expiry`. */
export type Access = `${string}:${string} ${string}`;

interface Input {
  readonly TableName?: string;
  readonly IndexName?: string;
  readonly TransactItems?: readonly Readonly<Record<string, { readonly TableName: string }>>[];
  readonly RequestItems?: Readonly<Record<string, unknown>>;
  readonly Bucket?: string;
  readonly Key?: string;
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
export function dynamoDbAccess(command: string, input: Input): Access[] {
  const { TableName, IndexName, TransactItems, RequestItems } = input;
  if (TransactItems) {
    return TransactItems.flatMap(Object.entries).map(
      ([part, { TableName: table }]) => `dynamodb:${partActions[part]} ${table}` as const,
    );
  }
  const tables = RequestItems ? Object.keys(RequestItems) : [TableName ?? "*"];
  const index = IndexName === undefined ? "" : `/index/${IndexName}`;
  return tables.map((table) => `dynamodb:${command} ${table}${index}` as const);
}

/** What a command of S3 needs. Resources are `bucket` and `bucket/*`. */
export function s3Access(command: string, { Bucket = "" }: Input): Access[] {
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
