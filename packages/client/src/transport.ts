/** The transport of all clients: sets keys, headers and deadlines, and sends each call. */
import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { durationMs, MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { Transport } from "@connectrpc/connect";
import {
  file_meguri_access_v1_access as accessFile,
  default_time_limit,
  time_limit,
} from "../../../src/gen/meguri/access/v1/access_pb.ts";
import { type CallDeps, sendCall } from "./call.ts";
import { type KeyReader, keyReaderOf } from "./call-key.ts";
import { checkHeaderValue, headersOf, keyOfCall } from "./headers.ts";
import type { MeguriOptions } from "./options.ts";
import { createRetryBudget } from "./retry-policy.ts";
import { createServers } from "./servers.ts";
import { afterFirst, repeatableInput } from "./streams.ts";
import { createTokenSource } from "./token.ts";
import { traceCall } from "./tracing.ts";
import { checkTexts, withCheckedTexts } from "./well-formed.ts";

/** The deadline of a call with all its tries. */
const defaultTimeoutMs = durationMs(getOption(accessFile, default_time_limit));

/**
 * A try may take half of the time, so that a server that hangs leaves the rest to another one; but
 * less than this is not divided.
 */
const undividedMs = 2_000;

/** Makes the transport. Throws a TypeError for options that do not fit. */
export function createMeguriTransport(options: MeguriOptions): {
  transport: Transport;
  close(): void;
} {
  const { caller, token, timeoutMs: limitMs = defaultTimeoutMs } = options;
  if (options.httpVersion === "1.1" && options.transport !== "connect") {
    throw new TypeError('httpVersion: gRPC needs HTTP/2; for 1.1 set transport to "connect"');
  }
  if (caller !== undefined) checkHeaderValue("caller", caller);
  const servers = createServers(options);
  const deps: CallDeps = {
    servers,
    budget: createRetryBudget(),
    tokens: token === undefined ? undefined : createTokenSource(token),
  };

  const untraced: Transport = {
    async unary(method, signal, timeoutMs, header, input, contextValues) {
      checkTexts(method.input, input);
      const { isIdempotent, keyOf, timeLimitMs } = methodInfo(method);
      const own = header === undefined ? undefined : new Headers(header);
      const key = keyOfCall(keyOf, own, input);
      const totalMs = limitOf(timeoutMs ?? timeLimitMs ?? limitMs);
      const deadline = performance.now() + totalMs;
      const ends = { deadline, retryUntil: deadline, waitUntil: deadline };
      const call = { key, isIdempotent, isWhole, signal, ...ends };
      return await sendCall(deps, call, ({ connection }, authorization) => {
        const leftMs = deadline - performance.now();
        const tryMs = wholeMs(Math.min(leftMs, Math.max(totalMs / 2, undividedMs)));
        const headers = headersOf(own, { caller, key, authorization });
        return connection.transport.unary(method, signal, tryMs, headers, input, contextValues);
      });
    },

    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const { isIdempotent, keyOf, timeLimitMs } = methodInfo(method);
      const own = header === undefined ? undefined : new Headers(header);
      const messages = await repeatableInput(method, input, contextValues);
      const key = keyOfCall(keyOf, own, messages.first);
      const now = performance.now();
      const deadline = now + limitOf(timeoutMs ?? 0);
      const retryUntil = Math.min(deadline, now + limitOf(limitMs));
      // An upload waits for a slot as long as it may take itself.
      const waitUntil = Math.min(deadline, now + limitOf(timeLimitMs ?? limitMs));
      const { isWhole } = messages;
      const ends = { deadline, retryUntil, waitUntil };
      const call = { key, isIdempotent, isWhole, signal, ...ends };
      return await sendCall(deps, call, async ({ connection: { transport } }, authorization) => {
        const tryMs = wholeMs(deadline - performance.now());
        const headers = headersOf(own, { caller, key, authorization });
        const all = withCheckedTexts(method.input, messages.all());
        return await afterFirst(
          await transport.stream(method, signal, tryMs, headers, all, contextValues),
          () => authorization !== undefined && deps.tokens?.reject(authorization),
        );
      });
    },
  };
  const transport: Transport = {
    unary: (method, ...call) => traceCall(method, () => untraced.unary(method, ...call)),
    stream: (method, ...call) => traceCall(method, () => untraced.stream(method, ...call)),
  };
  return { transport, close: () => servers.close() };
}

/** The single message of a unary call can be sent again. */
const isWhole = (): boolean => true;

/** A timeout as Connect's clients take it: 0 means that there is none. */
const limitOf = (timeoutMs: number): number =>
  timeoutMs > 0 ? timeoutMs : Number.POSITIVE_INFINITY;

/** A timeout in whole ms, of which at least one is left; undefined for none. */
const wholeMs = (ms: number): number | undefined =>
  ms === Number.POSITIVE_INFINITY ? undefined : Math.max(1, Math.ceil(ms));

interface MethodInfo {
  /** Whether a call that may have been made can be sent again. */
  readonly isIdempotent: boolean;
  /** Undefined if the requests of the method have no key. */
  readonly keyOf: KeyReader | undefined;
  /** The time limit of a method that takes longer than most; undefined for all others. */
  readonly timeLimitMs: number | undefined;
}

const infos = new WeakMap<DescMethod, MethodInfo>();

/** Returns what is known of a method, which is read from its descriptor once. */
function methodInfo(method: DescMethod): MethodInfo {
  const known = infos.get(method);
  if (known) return known;
  const info: MethodInfo = {
    isIdempotent: method.idempotency !== MethodOptions_IdempotencyLevel.IDEMPOTENCY_UNKNOWN,
    keyOf: keyReaderOf(method.input),
    timeLimitMs: hasOption(method, time_limit)
      ? durationMs(getOption(method, time_limit))
      : undefined,
  };
  infos.set(method, info);
  return info;
}
