/** Compares the thin transport with the SDK: the same random commands, credentials and answers. */
import { Readable } from "node:stream";
import {
  type AttributeValue,
  BatchGetItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  TransactGetItemsCommand,
  TransactWriteItemsCommand,
} from "@aws-sdk/client-dynamodb";
import { HttpRequest, HttpResponse } from "@smithy/core/protocols";
import fc from "fast-check";
import type { Dispatcher } from "undici";
import { expect, vi } from "vitest";
import { createConnections } from "../../../src/platform/dynamodb/sdk/connections.ts";
import { useThinTransport } from "../../../src/platform/dynamodb/sdk/thin-transport.ts";
import { anyText } from "../fixtures/any-text.ts";

type Credentials = Awaited<ReturnType<DynamoDBClient["config"]["credentials"]>>;
type Command =
  | GetItemCommand
  | BatchGetItemCommand
  | QueryCommand
  | TransactGetItemsCommand
  | TransactWriteItemsCommand
  | PutItemCommand;

/** An answer of the store or of a proxy, or an error of the connection. */
interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The connection breaks after the body. */
  readonly isCut: boolean;
  /** The code of an error before any answer. */
  readonly code: string | undefined;
}

const word = anyText({ maxLength: 12 });
const name = word.filter((text) => text !== "__proto__");
const number = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.bigInt({ max: 10n ** 38n }).map(String),
);
const bytes = fc
  .tuple(fc.uint8Array({ maxLength: 20 }), fc.boolean())
  .map(([data, isBuffer]) => (isBuffer ? Buffer.from(data) : data));

const { value } = fc.letrec<{ value: AttributeValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: "small", withCrossShrink: true },
    word.map((S) => ({ S })),
    number.map((N) => ({ N })),
    bytes.map((B) => ({ B })),
    fc.boolean().map((BOOL) => ({ BOOL })),
    fc.constant({ NULL: true as const }),
    fc.array(word, { minLength: 1, maxLength: 3 }).map((SS) => ({ SS })),
    fc.array(number, { minLength: 1, maxLength: 3 }).map((NS) => ({ NS })),
    fc.array(bytes, { minLength: 1, maxLength: 3 }).map((BS) => ({ BS })),
    fc.array(tie("value"), { maxLength: 3 }).map((L) => ({ L })),
    dictionary(tie("value")).map((M) => ({ M })),
  ),
}));

function dictionary<T>(of: fc.Arbitrary<T>) {
  const key = fc.oneof(name, fc.constantFrom("B", "BS", "S", "M", "toJSON"));
  return fc.dictionary(key, of, { maxKeys: 4, noNullPrototype: true });
}

const item = dictionary(value);
const table = fc.constantFrom("meguri-points", "B", "BS", "表");
const some = { minLength: 1, maxLength: 3 };
const base = { TableName: table, ExpressionAttributeNames: fc.constant({ "#b": "B" }) };
const condition = {
  ...base,
  ConditionExpression: word,
  ExpressionAttributeValues: item,
  ReturnValuesOnConditionCheckFailure: fc.constantFrom("ALL_OLD" as const, "NONE" as const),
};

const commands: fc.Arbitrary<Command> = fc.oneof(
  fc
    .record({ ...base, Key: item, ConsistentRead: fc.boolean() }, { requiredKeys: ["TableName"] })
    .map((input) => new GetItemCommand({ Key: {}, ...input })),
  fc
    .dictionary(table, fc.record({ Keys: fc.array(item, some), ConsistentRead: fc.boolean() }))
    .map((RequestItems) => new BatchGetItemCommand({ RequestItems })),
  fc
    .record(
      {
        ...base,
        ExpressionAttributeValues: item,
        KeyConditionExpression: word,
        Limit: fc.integer(),
        ExclusiveStartKey: item,
        ScanIndexForward: fc.boolean(),
      },
      { requiredKeys: ["TableName"] },
    )
    .map((input) => new QueryCommand(input)),
  fc
    .array(fc.record({ Get: fc.record({ TableName: table, Key: item }) }), some)
    .map((TransactItems) => new TransactGetItemsCommand({ TransactItems })),
  fc
    .tuple(
      fc.uuid(),
      fc.array(
        fc.oneof(
          fc.record({ Put: fc.record({ ...condition, Item: item }) }),
          fc.record({ Delete: fc.record({ ...condition, Key: item }) }),
          fc.record({ ConditionCheck: fc.record({ ...condition, Key: item }) }),
        ),
        some,
      ),
    )
    .map(
      ([ClientRequestToken, TransactItems]) =>
        new TransactWriteItemsCommand({ ClientRequestToken, TransactItems }),
    ),
  fc.record({ ...base, Item: item }).map((input) => new PutItemCommand(input)),
);

/** JSON as DynamoDB writes it. */
const json = (given: unknown): string =>
  JSON.stringify(given, function encode(this: Record<string, unknown>, key, plain) {
    const original = this[key];
    return original instanceof Uint8Array ? Buffer.from(original).toString("base64") : plain;
  });

const units = fc.record({ TableName: table, CapacityUnits: fc.nat().map((n) => n / 2) });

/** The members of all outputs that are read; each command has some of them. */
const outputs: Readonly<Record<string, fc.Arbitrary<object>>> = {
  GetItemCommand: fc.record({ Item: item, ConsumedCapacity: units }, { requiredKeys: [] }),
  BatchGetItemCommand: fc.record({
    Responses: fc.dictionary(table, fc.array(item, some)),
    UnprocessedKeys: fc.dictionary(table, fc.record({ Keys: fc.array(item, some) })),
    ConsumedCapacity: fc.array(units, some),
  }),
  QueryCommand: fc.record(
    { Items: fc.array(item, some), Count: fc.nat(), LastEvaluatedKey: item },
    { requiredKeys: ["Items"] },
  ),
  TransactGetItemsCommand: fc.record({
    Responses: fc.array(fc.record({ Item: item }, { requiredKeys: [] }), some),
  }),
  TransactWriteItemsCommand: fc.record({ ConsumedCapacity: fc.array(units, some) }),
  PutItemCommand: fc.record({ Attributes: item }, { requiredKeys: [] }),
};

const errorNames = [
  "ConditionalCheckFailedException",
  "IdempotentParameterMismatchException",
  "InternalServerError",
  "ItemCollectionSizeLimitExceededException",
  "ProvisionedThroughputExceededException",
  "RequestLimitExceeded",
  "ResourceNotFoundException",
  "ThrottlingException",
  "TransactionCanceledException",
  "TransactionConflictException",
  "TransactionInProgressException",
  "ValidationException",
  "InvalidSignatureException",
  "AnErrorOfTomorrow",
];

const reason = fc.record(
  { Code: fc.constantFrom("None", "ConditionalCheckFailed"), Message: word, Item: item },
  { requiredKeys: ["Code"] },
);

const errors = fc
  .record(
    {
      __type: fc
        .constantFrom(...errorNames)
        .map((each) => `com.amazonaws.dynamodb.v20120810#${each}`),
      message: word,
      Message: word,
      Item: item,
      CancellationReasons: fc.array(reason, some),
    },
    { requiredKeys: ["__type"] },
  )
  .map(json);

const bodies = (output: fc.Arbitrary<object>): fc.Arbitrary<Pick<Answer, "status" | "body">> =>
  fc.oneof(
    { weight: 6, arbitrary: output.map((each) => ({ status: 200, body: json(each) })) },
    { weight: 3, arbitrary: errors.map((body) => ({ status: 400, body })) },
    errors.map((body) => ({ status: 500, body })),
    fc.record({
      status: fc.constantFrom(200, 204, 301, 400, 429, 500, 502, 503),
      body: fc.constantFrom("", "{}", "null", "[]", '"B"', "<html>", '{"Item":', "{}}", "\u0000"),
    }),
  );

const answers = (command: Command, now: number): fc.Arbitrary<Answer> =>
  fc
    .record({
      answer: bodies(outputs[command.constructor.name] as fc.Arbitrary<object>),
      skewMs: fc.constantFrom(undefined, 0, 400_000, -400_000, 3_600_000),
      crc: fc.constantFrom(undefined, "1"),
      requestId: fc.constantFrom(undefined, "R1"),
      isCut: fc.integer({ min: 0, max: 19 }).map((n) => n === 0),
      code: fc
        .integer({ min: 0, max: 19 })
        .map((n) => ["ECONNRESET", "ENOTFOUND", "HPE_INVALID_CONSTANT"][n]),
    })
    .map(({ answer, skewMs, crc, requestId, ...broken }) => ({
      ...answer,
      ...broken,
      headers: {
        ...(skewMs !== undefined && { date: new Date(now + skewMs).toUTCString() }),
        ...(crc && { "x-amz-crc32": crc }),
        ...(requestId && { "x-amzn-requestid": requestId }),
      },
    }));

const dayMs = 86_400_000;

/** Any time of a day, and those around midnight. */
const timesOfDay = fc.oneof(fc.nat(dayMs), fc.integer({ min: -2_000, max: 2_000 }));
const times = fc
  .tuple(fc.integer({ min: 18_000, max: 40_000 }), timesOfDay)
  .map(([day, ms]) => day * dayMs + ms);

/** They expire at once, so that the SDK asks for others before each request. */
const credentials: fc.Arbitrary<Credentials> = fc
  .record(
    {
      accessKeyId: fc.string({ minLength: 16, maxLength: 20 }),
      secretAccessKey: fc.string({ minLength: 1, maxLength: 100 }),
      sessionToken: fc.base64String({ minLength: 1, maxLength: 400 }),
      accountId: fc.stringMatching(/^\d{12}$/),
    },
    { requiredKeys: ["accessKeyId", "secretAccessKey"] },
  )
  .map((each) => ({ ...each, expiration: new Date(0) }));

const exchanges = fc
  .record({ command: commands, time: times, credentials })
  .chain((given) => answers(given.command, given.time).map((answer) => ({ ...given, answer })));

type Exchange = typeof exchanges extends fc.Arbitrary<infer E> ? E : never;

/** Sends `count` random commands both ways, and expects the same requests and the same outcomes. */
export async function compareTransports(count: number, seed?: number): Promise<void> {
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    // Each endpoint has clients of its own, which send all of their commands.
    for (const endpoint of [undefined, "http://127.0.0.1:8000", "https://vpce.example/a b/(c)"]) {
      const [sdk, thin] = [createSide(endpoint, false), createSide(endpoint, true)];
      await fc.assert(
        fc.asyncProperty(exchanges, async (exchange) => {
          vi.setSystemTime(exchange.time);
          const expected = await sdk.run(exchange);
          const actual = await thin.run(exchange);
          expect(actual.outcome).toEqual(expected.outcome);
          const { authorization, ...request } = partsOf(actual.request);
          const { authorization: itsAuthorization, ...itsRequest } = partsOf(expected.request);
          expect(request).toEqual(itsRequest);
          expect(credentialOf(authorization)).toBe(credentialOf(itsAuthorization));
          expect(authorization).toBe(await sdk.authorizationOf(actual.request));
        }),
        { endOnFailure: true, numRuns: Math.ceil(count / 3), ...(seed !== undefined && { seed }) },
      );
    }
  } finally {
    vi.useRealTimers();
  }
}

/** A client whose requests are kept, and get the answer of the exchange. */
function createSide(endpoint: string | undefined, isThin: boolean) {
  let exchange: Exchange | undefined;
  let sent: HttpRequest[] = [];
  const client = new DynamoDBClient({
    region: "ap-northeast-1",
    ...(endpoint && { endpoint }),
    credentials: async () => exchange?.credentials as Credentials,
    cacheMiddleware: true,
    maxAttempts: 1,
    requestHandler: {
      async handle(request: HttpRequest) {
        sent.push(HttpRequest.clone(request));
        const answer = exchange?.answer as Answer;
        if (isThin) return createConnections(dispatcherOf(answer)).handle(request);
        return { response: responseOf(answer) };
      },
    },
  });
  if (isThin) useThinTransport(client, { retries: false });
  return {
    async run(next: Exchange) {
      exchange = next;
      sent = [];
      const outcome = await client.send(next.command as GetItemCommand).catch(fieldsOf);
      // Counts of the retries, which are left out of a client that sends once.
      if ("$metadata" in outcome) {
        delete outcome.$metadata.attempts;
        delete outcome.$metadata.totalRetryDelay;
      }
      expect(sent).toHaveLength(1);
      return { outcome, request: sent[0] as HttpRequest };
    },
    /** The signature by the SDK's own signer for the headers that a request has signed. */
    async authorizationOf(request: HttpRequest): Promise<string | undefined> {
      const [, names = ""] =
        /SignedHeaders=([^,]+)/.exec(request.headers.authorization ?? "") ?? [];
      const headers = Object.entries(request.headers).filter(([each]) =>
        names.split(";").includes(each),
      );
      const signer = await client.config.signer();
      const signed = await signer.sign(
        new HttpRequest({ ...request, headers: Object.fromEntries(headers) }),
        {
          signingDate: dateOf(request),
          signingService: "dynamodb",
          unsignableHeaders: new Set(["x-amz-content-sha256"]),
        },
      );
      return signed.headers.authorization;
    },
  };
}

/** An answer as the SDK's own connections return it. */
function responseOf(answer: Answer): HttpResponse {
  const { status: statusCode, headers, isCut, code } = answer;
  if (code) throw Object.assign(new Error(code), { code });
  function* parts() {
    yield* partsOfBody(answer);
    if (isCut) throw cutOff();
  }
  return new HttpResponse({ statusCode, headers: { ...headers }, body: Readable.from(parts()) });
}

/** The same as undici tells it. */
function dispatcherOf(answer: Answer): Dispatcher {
  const { status, headers, isCut, code } = answer;
  const controller = {} as Dispatcher.DispatchController;
  const dispatch: Dispatcher["dispatch"] = (_, handler) => {
    handler.onRequestStart?.(controller, {});
    if (code) {
      handler.onResponseError?.(controller, Object.assign(new Error(code), { code }));
      return true;
    }
    handler.onResponseStart?.(controller, status, { ...headers });
    for (const part of partsOfBody(answer)) handler.onResponseData?.(controller, part);
    if (isCut) handler.onResponseError?.(controller, cutOff());
    else handler.onResponseEnd?.(controller, {});
    return true;
  };
  return { dispatch } as Dispatcher;
}

/** Two parts of a body, which may divide a character. */
function partsOfBody({ body }: Answer): readonly Buffer[] {
  const whole = Buffer.from(body);
  return [whole.subarray(0, body.length / 2), whole.subarray(body.length / 2)];
}

const cutOff = (): Error => Object.assign(new Error("aborted"), { code: "ECONNRESET" });

/** An error as callers see it: its class and its fields, but the SDK's hint for its own users. */
function fieldsOf(error: Error & { readonly $metadata?: { readonly httpStatusCode?: number } }) {
  const { $metadata, ...fields } = error;
  return {
    ...fields,
    class: error.constructor,
    name: error.name,
    message: error.message.replace(/\n {2}Deserialization error: .*/, ""),
    status: $metadata?.httpStatusCode,
  };
}

/** What the store reads of a request. */
function partsOf({ headers, body, protocol, hostname, port, path, method }: HttpRequest) {
  const { authorization = "" } = headers;
  const read = ["host", "content-type", "content-length", "x-amz-target", "x-amz-date"];
  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  return {
    authorization,
    ...{ protocol, hostname, port, path, method },
    headers: Object.fromEntries(
      [...read, "x-amz-security-token"].map((each) => [each, headers[each]]),
    ),
    input: JSON.parse(text),
    length: Buffer.byteLength(text),
  };
}

const credentialOf = (authorization: string) => /Credential=([^,]*),/.exec(authorization)?.[1];

function dateOf({ headers }: HttpRequest): Date {
  const text = headers["x-amz-date"] ?? "";
  return new Date(text.replace(/^(....)(..)(..T..)(..)(..)Z$/, "$1-$2-$3:$4:$5Z"));
}
