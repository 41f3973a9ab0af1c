import { Agent } from "node:http";
import { DynamoDBClient, type DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import { isServerError, isThrottlingError, isTransientError } from "@smithy/core/retry";
import { DomainError } from "../../../domain/errors.ts";

/** Where DynamoDB is. No endpoint means AWS itself, with the SDK's own configuration. */
interface DynamoConfig {
  readonly endpoint: string | undefined;
  readonly region: string;
}

/** The clients of one process, on one pool of connections. */
export interface Clients {
  /** Retries what is safe to retry, as the SDK does by default. */
  readonly retrying: DynamoDBClient;
  /** Sends once: the commit engine has to know what became of each attempt. */
  readonly single: DynamoDBClient;
  /** How far this machine's clock is ahead of DynamoDB's, in ms; 0 within its second. */
  skewMs(): number;
  close(): void;
}

export function createClients({ endpoint, region }: DynamoConfig): Clients {
  const config: DynamoDBClientConfig = {
    region,
    // Resolves the middleware once per kind of command, not once per request. Requests under way
    // then share its context, of which nothing differs between requests of one client.
    cacheMiddleware: true,
    requestHandler: {
      connectionTimeout: 1_000,
      requestTimeout: 3_000,
      throwOnRequestTimeout: true,
      // The request timeout ends with the headers; this one also covers a body that stops coming.
      socketTimeout: 3_000,
      ...(endpoint?.startsWith("http:") && {
        httpAgent: new Agent({ keepAlive: true, maxSockets: 512 }),
      }),
      httpsAgent: { keepAlive: true, maxSockets: 512 },
    },
    ...(endpoint && {
      endpoint,
      credentials: { accessKeyId: "local", secretAccessKey: "local" },
    }),
  };
  const retrying = new DynamoDBClient(config);
  const single = new DynamoDBClient({
    ...config,
    requestHandler: retrying.config.requestHandler,
    maxAttempts: 1,
  });
  let skew = 0;
  for (const client of [retrying, single]) {
    trim(client);
    watchDate(client, (ms) => (skew = ms));
  }
  return {
    retrying,
    single,
    skewMs: () => skew,
    close: () => {
      retrying.destroy();
      single.destroy();
    },
  };
}

/** What the SDK does for each request to no use of ours; together a fourth of a request's CPU. */
const needless: readonly string[] = [
  // Copies input and output, attribute by attribute, for a logger that is not there.
  "loggerMiddleware",
  // Puts two headers together anew, and the signature has to cover one of them.
  "getUserAgentMiddleware",
  // Passes on the trace of a Lambda function.
  "recursionDetectionMiddleware",
];

function trim(client: DynamoDBClient): void {
  for (const name of needless) {
    // A new version of the SDK may have renamed it.
    if (!client.middlewareStack.remove(name)) throw new Error(`the SDK has no ${name}`);
  }
  client.middlewareStack.add(
    (next) => (args) => {
      const { headers } = args.request as { headers: Record<string, string> };
      headers["user-agent"] = "meguri";
      return next(args);
    },
    { step: "build", name: "meguriUserAgent" },
  );
}

/** Compares each answer's Date header, which is cut to a second, with the clock around it. */
function watchDate(client: DynamoDBClient, onSkew: (ms: number) => void): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      const sent = Date.now();
      const result = await next(args);
      const received = Date.now();
      const headers = (result.response as { headers?: Record<string, string> }).headers;
      const date = Date.parse(headers?.date ?? "");
      if (Number.isFinite(date)) onSkew(skewOf(date, sent, received));
      return result;
    },
    { step: "deserialize", name: "meguriClockSkew", priority: "low" },
  );
}

/**
 * How far the local clock is ahead of the server's (negative: behind), at least: the server read
 * its clock at some moment between `sent` and `received`, in the second that starts at `date`.
 */
export function skewOf(date: number, sent: number, received: number): number {
  if (sent > date + 1_000) return sent - (date + 1_000);
  if (received < date) return received - date;
  return 0;
}

/** An error with what the SDK adds when a request was sent. */
type RequestError = Parameters<typeof isTransientError>[0] & { readonly code?: string };

/**
 * Codes of broken connections that the SDK does not count as transient: of the socket, of TLS, and
 * of an answer that is not HTTP (`HPE_INVALID_CONSTANT`).
 */
const connectionCodes = /^(ECONN|EADDRNOTAVAIL$|ENETDOWN$|EHOSTDOWN$|EPROTO$|ERR_SSL_|HPE_)/;

/**
 * True when the request failed on its way or on the server's side, so that it may be repeated: by
 * the SDK's own classification, for a broken connection, and for an answer that is not JSON, which
 * some proxy gave. Everything else is an error of ours, such as a request that cannot be
 * serialised.
 */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const failed = error as RequestError;
  if (isTransientError(failed) || isThrottlingError(failed) || isServerError(failed)) return true;
  const { $metadata, code, name } = failed;
  const isForeignAnswer = name === "SyntaxError" && $metadata?.httpStatusCode !== undefined;
  return isForeignAnswer || connectionCodes.test(code ?? "");
}

/** Names under which DynamoDB says "not now": the request had no effect. */
export const throttles: ReadonlySet<string> = new Set([
  "ProvisionedThroughputExceededException",
  "RequestLimitExceeded",
  "ThrottlingException",
]);

/** Runs a read; what is wrong with the store is said without its words. */
export async function orUnavailable<T>(read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (error) {
    if (!isTransient(error)) throw error;
    throw unavailable();
  }
}

export const unavailable = (): DomainError =>
  new DomainError("STORE_UNAVAILABLE", "the store gave no answer");
