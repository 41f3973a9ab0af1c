/** Implements the service of Connect's conformance suite, which answers what its requests say. */
import { setTimeout as sleep } from "node:timers/promises";
import type { DescService, FileRegistry, Message } from "@bufbuild/protobuf";
import { type Any, anyPack } from "@bufbuild/protobuf/wkt";
import {
  type Code,
  ConnectError,
  type HandlerContext,
  type ServiceImpl,
} from "@connectrpc/connect";

interface Header {
  readonly name: string;
  readonly value: readonly string[];
}

interface WireError {
  readonly code: Code;
  readonly message?: string | undefined;
  readonly details: readonly Any[];
}

interface Definition {
  readonly responseHeaders: readonly Header[];
  readonly responseTrailers: readonly Header[];
  readonly responseDelayMs: number;
}

interface UnaryDefinition extends Definition {
  readonly response:
    | { readonly case: "responseData"; readonly value: Uint8Array }
    | { readonly case: "error"; readonly value: WireError }
    | { readonly case: undefined; readonly value?: undefined };
}

interface StreamDefinition extends Definition {
  readonly responseData: readonly Uint8Array[];
  readonly error?: WireError;
}

type Request<D> = Message & { readonly responseDefinition?: D };
type BidiRequest = Request<StreamDefinition> & { readonly fullDuplex: boolean };

/**
 * The methods, by the descriptors of the suite. `Unimplemented` is left out on purpose. The first
 * request of a stream defines the answers.
 */
export function conformanceService(registry: FileRegistry): ServiceImpl<DescService> {
  const requestInfo = registry.getMessage(`${suite}.ConformancePayload.RequestInfo`);
  if (!requestInfo) throw new Error("the suite has no message RequestInfo");

  const errorOf = (error: WireError, info: Info | undefined) =>
    connectErrorOf(error, info && { desc: requestInfo, value: info });

  const pack = (message: Message): Any => {
    const desc = registry.getMessage(message.$typeName);
    if (!desc) throw new Error(`the suite has no message ${message.$typeName}`);
    return anyPack(desc, message);
  };

  async function answerOnce(
    requests: readonly Message[],
    definition: UnaryDefinition | undefined,
    context: HandlerContext,
  ) {
    const info = infoOf(context, requests.map(pack));
    if (!definition) return { payload: { requestInfo: info } };
    setMetadata(definition, context);
    await sleep(definition.responseDelayMs);
    const { response } = definition;
    if (response.case === "error") throw errorOf(response.value, info);
    return { payload: { data: response.value, requestInfo: info } };
  }

  const unary = (request: Request<UnaryDefinition>, context: HandlerContext) =>
    answerOnce([request], request.responseDefinition, context);

  async function clientStream(
    requests: AsyncIterable<Request<UnaryDefinition>>,
    context: HandlerContext,
  ) {
    const all: Request<UnaryDefinition>[] = [];
    for await (const request of requests) all.push(request);
    return await answerOnce(all, all[0]?.responseDefinition, context);
  }

  async function* serverStream(request: Request<StreamDefinition>, context: HandlerContext) {
    const { responseDefinition } = request;
    if (!responseDefinition) return;
    setMetadata(responseDefinition, context);
    yield* remaining(responseDefinition, 0, infoOf(context, [pack(request)]));
  }

  async function* bidiStream(requests: AsyncIterable<BidiRequest>, context: HandlerContext) {
    let definition: StreamDefinition | undefined;
    let isFullDuplex = false;
    let sent = 0;
    let received: Any[] = [];
    let isFirst = true;
    for await (const request of requests) {
      if (isFirst) {
        definition = request.responseDefinition;
        isFullDuplex = request.fullDuplex;
        if (definition) setMetadata(definition, context);
        isFirst = false;
      }
      received.push(pack(request));
      if (!isFullDuplex) continue;
      const data = definition?.responseData[sent];
      if (!definition || !data) break;
      await sleep(definition.responseDelayMs);
      const info = sent === 0 ? infoOf(context, received) : { requests: received };
      yield { payload: { data, requestInfo: info } };
      sent += 1;
      received = [];
    }
    if (!definition) return;
    yield* remaining(definition, sent, sent === 0 ? infoOf(context, received) : undefined);
  }

  /** The answers from this one on, and the error. The first of them has what was received. */
  async function* remaining(definition: StreamDefinition, from: number, first: Info | undefined) {
    let info = first;
    for (const data of definition.responseData.slice(from)) {
      await sleep(definition.responseDelayMs);
      yield { payload: { data, requestInfo: info } };
      info = undefined;
    }
    if (definition.error) throw errorOf(definition.error, info);
  }

  const methods = { unary, idempotentUnary: unary, clientStream, serverStream, bidiStream };
  return methods as unknown as ServiceImpl<DescService>;
}

const suite = "connectrpc.conformance.v1";

/** The error that a client asks for, with one more detail. */
function connectErrorOf(
  { code, message, details }: WireError,
  further: ConnectError["details"][number] | undefined,
): ConnectError {
  const error = new ConnectError(message ?? "", code);
  error.details = details.map(({ typeUrl, value }) => ({
    type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1),
    value,
  }));
  if (further) error.details.push(further);
  return error;
}

type Info = ReturnType<typeof infoOf>;

/** What a call has brought, as the suite compares it. */
function infoOf(context: HandlerContext, requests: Any[]) {
  const timeoutMs = context.timeoutMs();
  const query = [...new URL(context.url).searchParams];
  return {
    requestHeaders: [...context.requestHeader].map(([name, value]) => headerOf(name, value)),
    ...(timeoutMs !== undefined && { timeoutMs: BigInt(Math.round(timeoutMs)) }),
    requests,
    ...(context.requestMethod === "GET" && {
      connectGetInfo: { queryParams: query.map(([name, value]) => ({ name, value: [value] })) },
    }),
  };
}

const headerOf = (name: string, value: string): Header => ({ name, value: value.split(/, */) });

function setMetadata({ responseHeaders, responseTrailers }: Definition, context: HandlerContext) {
  for (const { name, value } of responseHeaders) {
    for (const one of value) context.responseHeader.append(name, one);
  }
  for (const { name, value } of responseTrailers) {
    for (const one of value) context.responseTrailer.append(name, one);
  }
}
