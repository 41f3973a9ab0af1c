/** The connection to Temporal, and what happens to calls while Temporal is away. */

import { InterceptingCall, type Interceptor, Metadata, status } from "@grpc/grpc-js";
import {
  Client,
  Connection,
  defaultGrpcRetryOptions,
  isGrpcServiceError,
  makeGrpcRetryInterceptor,
  type TLSConfig,
} from "@temporalio/client";
import pThrottle from "p-throttle";
import type { Logger } from "../observe/log.ts";
import { DomainError } from "../words/errors.ts";
import type { Milliseconds } from "../words/units.ts";

/** Where Temporal is, and how a connection is secured. */
export interface TemporalEndpoint {
  readonly address: string;
  /** Absent: cleartext. */
  readonly tls?: TLSConfig;
  readonly apiKey?: ApiKey;
}

/** A secret, sent as a bearer token. It may be replaced while the process runs. */
interface ApiKey {
  current(): string;
}

/** The address of Temporal, and the task queue of the project's workers. */
export interface TemporalOptions extends TemporalEndpoint {
  readonly namespace: string;
  readonly taskQueue: string;
  readonly log: Logger;
}

/** A connection that is opened by its first call, so that a process starts without Temporal. */
export interface Link {
  readonly connection: Connection;
  readonly client: Client;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly log: Logger;
  /** Whether Temporal did not answer the last call. */
  isAway(): boolean;
  /**
   * Sends requests under one deadline, 3 s by default. Throws WORKFLOWS_UNAVAILABLE when Temporal
   * does not answer.
   */
  call<T>(requests: () => Promise<T>, timeoutMs?: Milliseconds): Promise<T>;
  /** Waits until this process may send one more request about a schedule. */
  scheduleTurn(): Promise<void>;
}

/**
 * Half of the requests about schedules that Temporal Cloud takes from all processes of a namespace,
 * so that a setup, and a program that is created, can send theirs beside the server that ensures
 * the schedules.
 */
export const scheduleRequestsPerSecond = 5;

/** The default time limit: shorter than a caller's deadline, so that the caller gets an answer. */
const defaultTimeoutMs = 3_000;

export function createLink(options: TemporalOptions): Link {
  const { namespace, taskQueue, log, apiKey, ...endpoint } = options;
  const connection = Connection.lazy({
    ...endpoint,
    // Read for each call, so that a new key needs no new connection.
    ...(apiKey && { apiKey: () => apiKey.current() }),
    // Retries for about 1.5 s: the default's pauses grow beyond the deadline above.
    interceptors: [
      makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ maxAttempts: 8, factor: 1.2 })),
      cancelWhenClosed,
    ],
    channelArgs: {
      // The default grows to two minutes, for which a Temporal that is back would not be used.
      "grpc.initial_reconnect_backoff_ms": 100,
      "grpc.max_reconnect_backoff_ms": 1_000,
      // Otherwise all channels to one address share connections and their backoff.
      "grpc.use_local_subchannel_pool": 1,
    },
  });
  const client = new Client({ connection, namespace });
  let isAway = false;
  async function call<T>(requests: () => Promise<T>, timeoutMs = defaultTimeoutMs): Promise<T> {
    try {
      const answer = await connection.withDeadline(Date.now() + timeoutMs, requests);
      isAway = false;
      return answer;
    } catch (error) {
      // Temporal's answers to a request have error classes of their own, without a gRPC code. An
      // error with a code means that Temporal is away or not set up.
      const code = grpcCode(error);
      isAway = code !== undefined && code !== invalidArgument;
      if (!isAway) throw error;
      log.warn({ code, err: error }, "Temporal does not answer");
      throw new DomainError("WORKFLOWS_UNAVAILABLE", "workflows cannot be reached right now");
    }
  }
  const pace = { limit: 1, interval: 1_000 / scheduleRequestsPerSecond };
  const scheduleTurn = pThrottle(pace)(async () => {});
  return {
    connection,
    client,
    namespace,
    taskQueue,
    log,
    call,
    scheduleTurn,
    isAway: () => isAway,
  };
}

/** `google.rpc.Code`: a request that Temporal would refuse again. */
const invalidArgument = 3;

/** The gRPC code of an error or of what caused it. */
function grpcCode(error: unknown): number | undefined {
  if (isGrpcServiceError(error)) return error.code;
  return error instanceof Error && error.cause !== undefined ? grpcCode(error.cause) : undefined;
}

type NextCall = ConstructorParameters<typeof InterceptingCall>[0];

/**
 * Ends a call with CANCELLED when the connection is closed. grpc-js throws then, also where the
 * SDK's interceptor sends a request again from a timer: the exception would end the process, and
 * the caller would never get an answer. It stands behind that interceptor.
 */
const cancelWhenClosed: Interceptor = (options, nextCall) => {
  try {
    return new InterceptingCall(nextCall(options));
  } catch (error) {
    const details = error instanceof Error ? error.message : String(error);
    return new InterceptingCall(cancelledCall(details));
  }
};

/** A call that sends nothing. */
function cancelledCall(details: string): NextCall {
  return {
    start(_metadata, listener) {
      listener?.onReceiveMessage?.(null);
      listener?.onReceiveStatus?.({ code: status.CANCELLED, details, metadata: new Metadata() });
    },
    sendMessageWithContext() {},
    sendMessage() {},
    startRead() {},
    halfClose() {},
    cancelWithStatus() {},
    getPeer: () => "none",
    getAuthContext: () => null,
  };
}
