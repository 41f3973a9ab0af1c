import {
  Client,
  Connection,
  defaultGrpcRetryOptions,
  isGrpcServiceError,
  makeGrpcRetryInterceptor,
} from "@temporalio/client";
import type { Workflows } from "../app/ports/workflows.ts";
import { DomainError } from "../domain/errors.ts";
import type { Logger } from "../log.ts";

/** Where Temporal is, and on which queue the project's workers listen. */
export interface TemporalOptions {
  readonly address: string;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly log: Logger;
}

/** A Temporal that may be away: nothing connects before it is needed. */
export interface Link {
  readonly connection: Connection;
  readonly client: Client;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly log: Logger;
  /** Runs calls under one short deadline. Throws WORKFLOWS_UNAVAILABLE when Temporal fails. */
  call<T>(calls: () => Promise<T>, deadlineMs?: number): Promise<T>;
}

/** What every call may take: a caller's deadline is not to be spent on a Temporal that is away. */
const deadlineMs = 3_000;

export function createLink({ address, namespace, taskQueue, log }: TemporalOptions): Link {
  const connection = Connection.lazy({
    address,
    // About 1.5 s of trying in all: the default's pauses grow beyond any deadline of ours.
    interceptors: [
      makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ maxAttempts: 8, factor: 1.2 })),
    ],
    channelArgs: {
      // The default grows to two minutes, in which a Temporal that is back would not be noticed.
      "grpc.initial_reconnect_backoff_ms": 100,
      "grpc.max_reconnect_backoff_ms": 1_000,
      // Without it channels to one address share a backoff and connections.
      "grpc.use_local_subchannel_pool": 1,
    },
  });
  const client = new Client({ connection, namespace });
  async function ask<T>(calls: () => Promise<T>, ms = deadlineMs): Promise<T> {
    try {
      return await connection.withDeadline(Date.now() + ms, calls);
    } catch (error) {
      // What Temporal says of a request comes as an error of its own class; what is left is a
      // Temporal that is away, or not set up as it has to be.
      const code = grpcCode(error);
      if (code === undefined) throw error;
      log.warn({ code, err: error }, "Temporal is of no use right now");
      throw new DomainError("WORKFLOWS_UNAVAILABLE", "workflows cannot be reached right now");
    }
  }
  return { connection, client, namespace, taskQueue, log, call: ask };
}

/** The gRPC code of an error or of what caused it. */
function grpcCode(error: unknown): number | undefined {
  if (isGrpcServiceError(error)) return error.code;
  return error instanceof Error && error.cause !== undefined ? grpcCode(error.cause) : undefined;
}

/** The client side of Temporal, with what the composition roots need besides the port. */
export interface TemporalWorkflows extends Workflows {
  readonly link: Link;
  close(): Promise<void>;
}
