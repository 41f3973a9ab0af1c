/**
 * The thin transport: six commands go to DynamoDB without the part of the SDK's middleware that
 * takes most of a request's CPU.
 *
 * This file does what a request needs that succeeds: the input as JSON, its headers, the JSON of
 * the answer. `signature.ts` signs, and `connections.ts` sends. The SDK does everything else:
 *
 * - `send`, and all other commands, such as those on tables
 * - credentials and their refresh, region, endpoint
 * - retries: classification, backoff, tokens
 * - the date of signatures, which it corrects by the store's clock
 * - answers that are errors or not JSON
 *
 * The client's own middleware that counts and traces requests runs here, too.
 */
import {
  type DynamoDBClient,
  GetItemCommand,
  type ServiceInputTypes,
  type ServiceOutputTypes,
  type TransactWriteItemsCommandInput,
} from "@aws-sdk/client-dynamodb";
import { constructStack } from "@smithy/core/client";
import { getEndpointFromInstructions, toEndpointV1 } from "@smithy/core/endpoints";
import { HttpRequest, type HttpResponse } from "@smithy/core/protocols";
import { getSchemaSerdePlugin } from "@smithy/core/schema";
import { createSigner } from "./signature.ts";

/** The commands of the thin transport, by their names in the SDK. */
const commands: ReadonlySet<string> = new Set([
  "GetItemCommand",
  "BatchGetItemCommand",
  "QueryCommand",
  "TransactGetItemsCommand",
  "TransactWriteItemsCommand",
  "PutItemCommand",
]);

const name = "meguriThinTransport";

/** The middleware that the requests of these commands do not pass. */
const replaced: readonly string[] = [
  name,
  "serializerMiddleware",
  "contentLengthMiddleware",
  "hostHeaderMiddleware",
  "httpAuthSchemeMiddleware",
  "httpSigningMiddleware",
  "deserializerMiddleware",
];

type Config = DynamoDBClient["config"];
type Stack = DynamoDBClient["middlewareStack"];
type Context = Parameters<Stack["resolve"]>[1];
type Endpoint = ReturnType<typeof toEndpointV1>;

/**
 * Has a client send the six commands by the thin transport. The client's request handler has to
 * return bodies that are read, as that of `connections.ts` does. A client that sends once passes no
 * retries either, which make an error with a stack for each request in advance.
 */
export function useThinTransport(
  { config, middlewareStack }: DynamoDBClient,
  { retries }: { readonly retries: boolean },
): void {
  const bypassed = retries ? replaced : [...replaced, "retryMiddleware"];
  const write = createWriter(config);
  const sign = createSigning(config);
  middlewareStack.add(
    (next, context) => {
      const { commandName = "" } = context;
      if (!commands.has(commandName)) return next;
      const stack = middlewareStack.clone();
      for (const each of bypassed) {
        if (!stack.remove(each)) throw new Error(`the SDK has no ${each}`);
      }
      // Within the retries, because each attempt has a signature of its own.
      stack.add(
        (next) => async (args) => {
          const request = await write(commandName, args.input);
          return sign(request, context, (signed) => next({ ...args, request: signed }));
        },
        { step: "finalizeRequest", name: "meguriSigning" },
      );
      const read = createReader(config, context);
      stack.add(
        (next) => async (args) => {
          const { response } = await next(args);
          return read(response as HttpResponse);
        },
        { step: "deserialize", name: "meguriParsing" },
      );
      const send = stack.resolve(
        ({ request }) => config.requestHandler.handle(request as HttpRequest),
        context,
      );
      // The SDK makes a token for a transaction without one, the same for all of its attempts.
      return (args) => (isWithoutToken(commandName, args.input) ? next(args) : send(args));
    },
    { step: "initialize", name, priority: "high" },
  );
}

const isWithoutToken = (commandName: string, input: ServiceInputTypes): boolean =>
  commandName === "TransactWriteItemsCommand" &&
  (input as TransactWriteItemsCommandInput).ClientRequestToken === undefined;

/** Bytes in JSON: `{}`, `{"0":…` or, of a Buffer, `{"type":…`, and a list of these. */
const bytes = /"B":\{(?:\}|"0":|"type":)|"BS":\[\{/;

/** Writes the request of an input, without a signature. */
function createWriter(config: Config) {
  const endpointOf = createEndpoints(config);

  function encodeBinary(this: Record<string, unknown>, key: string, value: unknown): unknown {
    const original = this[key];
    return original instanceof Uint8Array ? config.base64Encoder(original) : value;
  }

  return async (commandName: string, input: ServiceInputTypes): Promise<HttpRequest> => {
    const endpoint = await endpointOf();
    const { hostname, port } = endpoint;
    const text = JSON.stringify(input);
    // A function that JSON.stringify calls for each member takes as long as all the rest.
    const body = bytes.test(text) ? JSON.stringify(input, encodeBinary) : text;
    return new HttpRequest({
      ...endpoint,
      method: "POST",
      headers: {
        host: port === undefined ? hostname : `${hostname}:${port}`,
        "content-type": "application/x-amz-json-1.0",
        "content-length": String(Buffer.byteLength(body)),
        "x-amz-target": `DynamoDB_20120810.${commandName.replace(/Command$/, "")}`,
      },
      body,
    });
  };
}

/**
 * Asks the SDK for the endpoint once, and again for credentials of another account. It depends on
 * nothing else, because the names of tables are no ARNs.
 */
function createEndpoints(config: Config) {
  let known: { readonly accountId: string | undefined; readonly endpoint: Endpoint } | undefined;
  return async (): Promise<Endpoint> => {
    const { accountId } = await config.credentials();
    if (!known || known.accountId !== accountId) {
      const found = await getEndpointFromInstructions({}, GetItemCommand, { ...config });
      const endpoint = toEndpointV1(found);
      known = { accountId, endpoint: { ...endpoint, path: endpoint.path.replace(/\/?$/, "/") } };
    }
    return known.endpoint;
  };
}

/** Signs requests and sends them. The SDK's signer learns from the answers what the date is. */
function createSigning(config: Config) {
  const { signer } = config.httpAuthSchemes[0] as Config["httpAuthSchemes"][number];
  const signature = createSigner(config);
  const dates = {
    signer: async () => signature,
    systemClockOffset: 0,
    disableClockSkewCorrection: config.disableClockSkewCorrection,
  };
  return async <R extends { readonly response: unknown }>(
    request: HttpRequest,
    context: Context,
    send: (signed: HttpRequest) => Promise<R>,
  ): Promise<R> => {
    const properties = { context, config: dates };
    const signed = await signer.sign(request, {}, properties);
    const result = await send(signed as HttpRequest).catch(signer.errorHandler?.(properties));
    signer.successHandler?.(result.response, properties);
    return result;
  };
}

/** Reads answers. Those that are not the JSON of a success are read by the SDK. */
function createReader(config: Config, context: Context) {
  const stack = constructStack<ServiceInputTypes, ServiceOutputTypes>();
  stack.use(getSchemaSerdePlugin(config));
  stack.remove("serializerMiddleware");

  function decodeBinary(key: string, value: unknown): unknown {
    if (key === "B" && typeof value === "string") return config.base64Decoder(value);
    if (key === "BS" && isStrings(value)) return value.map(config.base64Decoder);
    return value;
  }

  function parsed(text: string): object | undefined {
    try {
      const value = /"BS?"/.test(text) ? JSON.parse(text, decodeBinary) : JSON.parse(text);
      return isObject(value) ? value : undefined;
    } catch {
      return undefined;
    }
  }

  return async (response: HttpResponse) => {
    const { statusCode, headers } = response;
    if (statusCode === 200) {
      const output = parsed(String(response.body));
      const $metadata = { httpStatusCode: statusCode, requestId: headers["x-amzn-requestid"] };
      if (output) {
        return { response, output: Object.assign(output, { $metadata }) as ServiceOutputTypes };
      }
    }
    return stack.resolve(async () => ({ response }), context)({ input: {} as ServiceInputTypes });
  };
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === "string");
