/**
 * DynamoDB's wire format for the fault proxy: the answers that it creates, the items that a request
 * names, and HTTP to the store. Texts and shapes follow the API reference.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, RequestOptions, ServerResponse } from "node:http";
import { Agent, request } from "node:http";

/** A request as it arrived, with its headers as a flat list of names and values. */
export type WireRequest = {
  readonly operation: string;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
};

/** An HTTP answer, with its headers as a flat list of names and values. */
export type Answer = {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: Buffer;
};

/** One entry of `CancellationReasons`. */
export type CancellationReason = {
  readonly Code: string;
  readonly Message?: string;
};

/** The result of a request. */
export type Outcome = {
  readonly answer: Answer;
  /** False when the proxy itself has answered. */
  readonly forwarded: boolean;
  /** How the answer gets lost, if it does. */
  readonly lost?: "destroy" | "silence" | "stall";
};

/** An answer that the proxy has created. */
export function made(answer: Answer): Outcome {
  return { answer, forwarded: false };
}

/** The error for a request that the proxy cannot serve as AWS would. */
export class UnsupportedRequest extends Error {}

export type AttributeMap = Readonly<Record<string, unknown>>;

/** A request that names an item: by a `Key`, or by an `Item` that contains it. */
export type ItemRequest = {
  readonly TableName: string;
  readonly Key?: AttributeMap;
  readonly Item?: AttributeMap;
};

/** The body of TransactWriteItems and TransactGetItems, as far as the proxy reads it. */
export type TransactionRequest = {
  readonly TransactItems?: readonly Readonly<Record<string, ItemRequest>>[];
  readonly ClientRequestToken?: string;
};

/** The body of BatchWriteItem. */
export type BatchWriteRequest = {
  readonly RequestItems: Readonly<
    Record<string, readonly Readonly<Record<string, Omit<ItemRequest, "TableName">>>[]>
  >;
};

const TYPE_PREFIX = "com.amazonaws.dynamodb.v20120810#";

const CONFLICT_MESSAGE = "Transaction is ongoing for the item";

const NONE: CancellationReason = { Code: "None" };
const CONFLICT: CancellationReason = { Code: "TransactionConflict", Message: CONFLICT_MESSAGE };

/** The two reasons for which a transaction is throttled: on demand, and provisioned. */
const THROTTLES: readonly [CancellationReason, CancellationReason] = [
  {
    Code: "ThrottlingError",
    Message:
      "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically " +
      "scaling your table or index so please try again shortly.",
  },
  {
    Code: "ProvisionedThroughputExceeded",
    Message:
      "The level of configured provisioned throughput for the table was exceeded. Consider " +
      "increasing your provisioning level with the UpdateTable API.",
  },
];

/** An answer as DynamoDB sends it: JSON 1.0 with a request id and a date. */
function answer(status: number, content: object): Answer {
  const headers = [
    ["content-type", "application/x-amz-json-1.0"],
    ["x-amzn-requestid", randomUUID()],
    ["date", new Date().toUTCString()],
  ].flat();
  return { status, headers, body: Buffer.from(JSON.stringify(content)) };
}

/** The error `name` with a message. In most errors the member's name is `message`. */
export function errorAnswer(status: number, name: string, message: string): Answer {
  return answer(status, { __type: TYPE_PREFIX + name, message });
}

function cancelledAnswer(reasons: readonly CancellationReason[]): Answer {
  const codes = reasons.map((reason) => reason.Code).join(", ");
  return answer(400, {
    __type: `${TYPE_PREFIX}TransactionCanceledException`,
    CancellationReasons: reasons,
    Message:
      "Transaction cancelled, please refer cancellation reasons for specific reasons " +
      `[${codes}]`,
  });
}

/** A cancelled transaction with TransactionConflict where `conflicts` is true, None elsewhere. */
export function conflictAnswer(conflicts: readonly boolean[]): Answer {
  return cancelledAnswer(conflicts.map((conflict) => (conflict ? CONFLICT : NONE)));
}

/** A cancelled transaction that was throttled where `throttled` is true, None elsewhere. */
export function throttledTransactionAnswer(
  throttled: readonly boolean[],
  random: () => number,
): Answer {
  const reason = THROTTLES[random() < 0.5 ? 0 : 1];
  return cancelledAnswer(throttled.map((hit) => (hit ? reason : NONE)));
}

/** A request that is throttled as a whole, with the error of its operation. */
export function throttleAnswer(
  name: "ThrottlingException" | "ProvisionedThroughputExceededException",
): Answer {
  const reason = THROTTLES[name === "ThrottlingException" ? 0 : 1];
  return errorAnswer(400, name, reason.Message ?? reason.Code);
}

/** A single-item write on an item that a transaction is writing. */
export function itemConflictAnswer(): Answer {
  return errorAnswer(400, "TransactionConflictException", CONFLICT_MESSAGE);
}

/** A transaction resent with its token while the first attempt is under way. */
export function inProgressAnswer(): Answer {
  const name = "TransactionInProgressException";
  const message = "The transaction with the given request token is already in progress.";
  return answer(400, { __type: TYPE_PREFIX + name, Message: message });
}

/** An internal error, whose result is ambiguous for the client. */
export function serverErrorAnswer(): Answer {
  return errorAnswer(500, "InternalServerError", "The request processing has failed");
}

/** A request that arrives when its signature has expired. */
export const expiredSignatureAnswer = (): Answer =>
  errorAnswer(400, "InvalidSignatureException", "Signature expired");

/** A request that AWS refuses, such as for want of a right. */
export const refusedAnswer = (code: string): Answer =>
  errorAnswer(400, code, "User: arn:aws:sts::123456789012:assumed-role/meguri may not do this");

/** A BatchWriteItem that has written nothing. */
export function unprocessedAnswer({ RequestItems }: BatchWriteRequest): Answer {
  return answer(200, { UnprocessedItems: RequestItems });
}

/** A request that the proxy serves only with its isolation switched off. */
export function unsupportedAnswer({ message }: UnsupportedRequest): Answer {
  return errorAnswer(500, "UnsupportedByProxy", `the proxy does not support ${message}`);
}

/** An answer with other content, without the checksum of the old one. */
export function withContent({ status, headers }: Answer, content: object): Answer {
  const others = headers.filter((_, i) => headers[i - (i % 2)]?.toLowerCase() !== "x-amz-crc32");
  return { status, headers: others, body: Buffer.from(JSON.stringify(content)) };
}

/** The one action (Put, Update, Delete, ConditionCheck or Get) of each item of a transaction. */
export function actionsOf(request: TransactionRequest): ItemRequest[] {
  return (request.TransactItems ?? []).flatMap((item) => Object.values(item));
}

/** The items that a BatchWriteItem puts or deletes. */
export function writesOf({ RequestItems }: BatchWriteRequest): ItemRequest[] {
  return Object.entries(RequestItems).flatMap(([TableName, writes]) =>
    writes.flatMap((write) => Object.values(write).map((item) => ({ ...item, TableName }))),
  );
}

/**
 * A string that is equal for equal (table, primary key). Undefined if the request has no such key;
 * the store then refuses it. `keyNames` are the table's key attributes.
 */
export function itemKey(request: ItemRequest, keyNames: readonly string[]): string | undefined {
  const attributes = request.Key ?? request.Item;
  const values = keyNames.map((name) => attributes?.[name]);
  if (keyNames.length === 0 || values.includes(undefined)) return undefined;
  return JSON.stringify([request.TableName, ...values.map(canonicalValue)]);
}

/** Numbers are texts, and 1, 1.0 and 1e0 are one key. Exact for safe integers only. */
function canonicalValue(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("N" in value)) return value;
  const number = Number(value.N);
  return { N: Number.isSafeInteger(number) ? String(number) : value.N };
}

/** Below Jetty's 30 s, so that an idle connection is never reused while upstream closes it. */
const UPSTREAM_IDLE_MS = 20_000;

const TABLE_CHANGES = ["CreateTable", "UpdateTable", "DeleteTable"];

/** The key attributes of a table and of its indexes, partition key first. */
export type TableSchema = {
  readonly keys: readonly string[];
  readonly indexes: ReadonlyMap<string, IndexSchema>;
};

export type IndexSchema = {
  readonly keys: readonly string[];
  /** ALL, KEYS_ONLY or INCLUDE. */
  readonly projection: string;
};

const NO_TABLE: TableSchema = { keys: [], indexes: new Map() };

export type Upstream = ReturnType<typeof createUpstream>;

/** Connections to the store, kept alive, and the key schemas of its tables. */
export function createUpstream(url: string) {
  const { hostname, port } = new URL(url);
  const agent = new Agent({
    keepAlive: true,
    maxSockets: Number.POSITIVE_INFINITY,
    maxFreeSockets: 1024,
    scheduling: "lifo",
    timeout: UPSTREAM_IDLE_MS,
  });
  const target: RequestOptions = { hostname, port, method: "POST", path: "/", agent };
  const tables = new Map<string, TableSchema>();

  function post(headers: readonly string[], body: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const req = request({ ...target, headers }, (res) => {
        readAll(res).then((content) => {
          const forwarded = endToEnd(res.rawHeaders);
          resolve({ status: res.statusCode ?? 502, headers: forwarded, body: content });
        }, reject);
      });
      req.on("error", reject);
      req.end(body);
    });
  }

  /** Sends a request of the proxy itself, with the headers of a client's request. */
  async function ask(operation: string, content: object, rawHeaders: readonly string[]) {
    const body = Buffer.from(JSON.stringify(content));
    const headers = withTarget(endToEnd(rawHeaders), `DynamoDB_20120810.${operation}`);
    return post(withLength(headers, body), body);
  }

  /** The schema has no keys when the store has no such table. */
  async function schemaOf(table: string, rawHeaders: readonly string[]): Promise<TableSchema> {
    const known = tables.get(table);
    if (known !== undefined) return known;
    const { status, body } = await ask("DescribeTable", { TableName: table }, rawHeaders);
    if (status !== 200) return NO_TABLE;
    const schema = toSchema(parse(body));
    tables.set(table, schema);
    return schema;
  }

  return {
    async send({ operation, rawHeaders, body }: WireRequest): Promise<Answer> {
      if (TABLE_CHANGES.includes(operation)) tables.clear();
      return post(withLength(endToEnd(rawHeaders), body), body);
    },
    ask,
    schemaOf,
    /** The `itemKey` of each request. */
    async itemKeys(requests: readonly ItemRequest[], rawHeaders: readonly string[]) {
      const names = new Map<string, readonly string[]>();
      for (const table of new Set(requests.map(({ TableName }) => TableName))) {
        names.set(table, (await schemaOf(table, rawHeaders)).keys);
      }
      return requests.map((request) => itemKey(request, names.get(request.TableName) ?? []));
    },
    close: () => agent.destroy(),
  };
}

type KeySchema = readonly { readonly AttributeName: string }[];

type IndexDescription = {
  readonly IndexName: string;
  readonly KeySchema: KeySchema;
  readonly Projection: { readonly ProjectionType: string };
};

type TableDescription = {
  readonly Table: {
    readonly KeySchema: KeySchema;
    readonly LocalSecondaryIndexes?: readonly IndexDescription[];
    readonly GlobalSecondaryIndexes?: readonly IndexDescription[];
  };
};

function toSchema({ Table }: TableDescription): TableSchema {
  const { LocalSecondaryIndexes = [], GlobalSecondaryIndexes = [] } = Table;
  const namesOf = (schema: KeySchema) => schema.map(({ AttributeName }) => AttributeName);
  const indexes = [...LocalSecondaryIndexes, ...GlobalSecondaryIndexes].map(
    ({ IndexName, KeySchema, Projection }) =>
      [IndexName, { keys: namesOf(KeySchema), projection: Projection.ProjectionType }] as const,
  );
  return { keys: namesOf(Table.KeySchema), indexes: new Map(indexes) };
}

const HOP_BY_HOP = ["connection", "keep-alive", "transfer-encoding", "content-length", "expect"];

/** The headers (name, value, name, value, …) that are not hop-by-hop. */
function endToEnd(rawHeaders: readonly string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const [name = "", value = ""] = rawHeaders.slice(i, i + 2);
    if (!HOP_BY_HOP.includes(name.toLowerCase())) kept.push(name, value);
  }
  return kept;
}

function withLength(headers: readonly string[], body: Buffer): string[] {
  return [...headers, "Content-Length", String(body.byteLength)];
}

function withTarget(headers: readonly string[], target: string): string[] {
  return headers.map((value, i) =>
    headers[i - 1]?.toLowerCase() === "x-amz-target" && i % 2 === 1 ? target : value,
  );
}

/** Writes an answer with its headers; the store's Date is forwarded, or replaced. */
export function send(res: ServerResponse, answer: Answer, skewMs: number | undefined): void {
  res.sendDate = false;
  const headers = withLength(answer.headers, answer.body);
  if (skewMs === undefined) res.writeHead(answer.status, headers);
  else res.writeHead(answer.status, withDate(headers, new Date(Date.now() + skewMs)));
  res.end(answer.body);
}

/** Sends the head and half of the body; the connection stays open. */
export function sendHalf(res: ServerResponse, { status, headers, body }: Answer): void {
  res.sendDate = false;
  res.writeHead(status, withLength(headers, body));
  res.write(body.subarray(0, body.length / 2));
}

function withDate(headers: readonly string[], date: Date): string[] {
  const others = headers.filter((_, i) => headers[i - (i % 2)]?.toLowerCase() !== "date");
  return [...others, "Date", date.toUTCString()];
}

export function operationOf(req: IncomingMessage): string {
  const target = String(req.headers["x-amz-target"] ?? "");
  return target.slice(target.indexOf(".") + 1);
}

/** The whole body. Rejects when the connection breaks before its end. */
export function readAll(message: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    message.on("data", (chunk: Buffer) => chunks.push(chunk));
    message.on("end", () => {
      const [first] = chunks;
      resolve(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks));
    });
    message.on("error", reject);
    message.on("aborted", () => reject(new Error("the connection broke off")));
  });
}

export function parse<T = unknown>(body: Buffer): T {
  return JSON.parse(body.toString("utf8")) as T;
}

/** The same with binary values as the SDK has them; on the wire they are base64. */
export const parseValues = (body: Buffer): unknown =>
  JSON.parse(body.toString("utf8"), (type, value) =>
    type === "B" && typeof value === "string" ? Buffer.from(value, "base64") : value,
  );
