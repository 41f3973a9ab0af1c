import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { pathToString } from "@bufbuild/protobuf/reflect";
import { createValidator } from "@bufbuild/protovalidate";
import { Code, type ConnectError, type Interceptor } from "@connectrpc/connect";
import type { Logger } from "pino";
import { DomainError } from "../../domain/errors.ts";
import { authenticate } from "./authenticate.ts";
import { callerKey, defaultTimeoutMs } from "./context.ts";
import { InvalidRequest, toConnectError } from "./errors.ts";

/** What every call of the API goes through, outermost first. */
export const interceptors = (log: Logger): Interceptor[] => [
  answer(log),
  authenticate,
  limitTime,
  validate(),
];

/** Turns errors into what may cross the wire, and logs every call. */
const answer =
  (log: Logger): Interceptor =>
  (next) =>
  async (req) => {
    const start = performance.now();
    const told = (code: string) => ({
      method: `${req.service.typeName}/${req.method.name}`,
      caller: req.contextValues.get(callerKey),
      code,
      ms: Math.round((performance.now() - start) * 10) / 10,
    });
    const done = () => log.debug(told("OK"), "call");
    const failed = (error: unknown) => {
      const connectError = toConnectError(error);
      const line = told(Code[connectError.code]);
      if (connectError.code === Code.Internal) log.error({ ...line, err: error }, "call failed");
      else log.info({ ...line, refusal: connectError.rawMessage }, "call refused");
      return connectError;
    };
    try {
      const response = await next(req);
      if (response.stream) {
        return { ...response, message: follow(response.message, done, failed) };
      }
      done();
      return response;
    } catch (error) {
      throw failed(error);
    }
  };

/** A stream is answered when it has ended. */
async function* follow<T>(
  messages: AsyncIterable<T>,
  done: () => void,
  failed: (error: unknown) => ConnectError,
): AsyncGenerator<T, void> {
  try {
    yield* messages;
    done();
  } catch (error) {
    throw failed(error);
  }
}

/**
 * Answers when the time is up, whatever the call still waits for. Connect tells handlers about a
 * deadline, but does not answer in their stead. A stream that has begun has no limit but its own.
 */
const limitTime: Interceptor = (next) => async (req) => {
  req.signal.throwIfAborted();
  const { promise: interrupted, reject } = Promise.withResolvers<never>();
  const stop = () => reject(req.signal.reason);
  const limited = req.header.has("grpc-timeout") || req.header.has("connect-timeout-ms");
  const timer = limited ? undefined : setTimeout(() => reject(timeIsUp()), defaultTimeoutMs);
  req.signal.addEventListener("abort", stop);
  try {
    const response = await Promise.race([next(req), interrupted]);
    if (!response.stream) return response;
    return { ...response, message: endWith(req.signal, response.message) };
  } finally {
    clearTimeout(timer);
    req.signal.removeEventListener("abort", stop);
  }
};

const timeIsUp = () =>
  new DomainError("DEADLINE", `no answer within ${defaultTimeoutMs} ms; it may yet be done`);

/** Handlers end a stream whose signal is aborted; the client is to hear why. */
async function* endWith<T>(
  signal: AbortSignal,
  messages: AsyncIterable<T>,
): AsyncGenerator<T, void> {
  try {
    yield* messages;
  } finally {
    signal.throwIfAborted();
  }
}

/** Holds requests to the rules in their schema. A rule that cannot be evaluated is our fault. */
function validate(): Interceptor {
  const validator = createValidator();

  function check<D extends DescMessage>(schema: D, request: MessageShape<D>): void {
    const result = validator.validate(schema, request);
    if (result.kind === "valid") return;
    if (result.kind === "error") throw result.error;
    throw new InvalidRequest(
      result.violations.map(({ field, message }) => ({
        field: pathToString(field),
        description: message,
      })),
    );
  }

  async function* checkEach<D extends DescMessage>(
    schema: D,
    requests: AsyncIterable<MessageShape<D>>,
  ): AsyncGenerator<MessageShape<D>, void> {
    for await (const request of requests) {
      check(schema, request);
      yield request;
    }
  }

  return (next) => (req) => {
    const { input } = req.method;
    if (req.stream) return next({ ...req, message: checkEach(input, req.message) });
    check(input, req.message);
    return next(req);
  };
}
