/** Collects the methods that a router serves, and what is needed to call those of gRPC. */
import type { DescMessage, DescMethod, MessageShape } from "@bufbuild/protobuf";
import {
  type ConnectRouter,
  createMethodImplSpec,
  createServiceImplSpec,
  type Interceptor,
  type MethodImplSpec,
} from "@connectrpc/connect";
import { createMethodSerializationLookup, createMethodUrl } from "@connectrpc/connect/protocol";
import { Health } from "../../../gen/grpc/health/v1/health_pb.ts";
import { defaultTimeLimitMs, limitsOf } from "../method-limits.ts";
import { strictDecoder } from "../strict-json.ts";

/** Messages in bytes, and the longest deadline that a client may set. */
export interface Limits {
  readonly readMaxBytes: number;
  readonly writeMaxBytes: number;
  readonly maxTimeoutMs: number;
}

/** Unknown fields are dropped, because to keep many of them takes long. */
export const binaryOptions = { readUnknownFields: false };

/** A method whose requests are one message, with its implementation. */
export interface ServedMethod {
  readonly spec: Extract<MethodImplSpec, { kind: "unary" | "server_streaming" }>;
  /** Decides by the headers whether the call is let in. */
  readonly gate: Options["requestGate"];
  readonly interceptors: Interceptor[];
  /** Ends streams of answers when it aborts. */
  readonly shutdownSignal: AbortSignal | undefined;
  readonly limits: Limits;
  /** Throws a ConnectError for what is not a message of the method. */
  parse(bytes: Uint8Array): MessageShape<DescMessage>;
  /** Throws RESOURCE_EXHAUSTED for a message over the limit. */
  serialize(message: MessageShape<DescMessage>): Uint8Array;
}

/** The methods of a server by path, such as `/package.Service/Method`. */
export interface Methods {
  /** Whether there is such a method, unary or streaming; a query behind the path does not count. */
  has(path: string): boolean;
  /** The method of a path, whatever its kind. */
  method(path: string): DescMethod | undefined;
  /** The method of a path whose requests are one message. */
  served(path: string): ServedMethod | undefined;
  /** How long a stream for this path may be open in ms; undefined for ever. */
  lifeMs(path: string): number | undefined;
}

/**
 * Returns routes that do what the given ones do, and the methods that they serve once they were
 * run. Of the options of a service, the request gate, the interceptors and the limits apply to the
 * methods; the body limit is that of the method.
 */
export function collectMethods(routes: Routes, limits: Limits) {
  const lives = new Map<string, number | undefined>();
  const all = new Map<string, DescMethod>();
  const served = new Map<string, ServedMethod>();
  const add = (spec: MethodImplSpec, options: Options = {}) => {
    const path = createMethodUrl("/", spec.method);
    all.set(path, spec.method);
    lives.set(path, lifeMs(spec.method, limits.maxTimeoutMs));
    if (spec.kind === "unary" || spec.kind === "server_streaming") {
      served.set(path, servedMethod(spec, options, limits));
    }
  };
  const collecting = (router: ConnectRouter): ConnectRouter => {
    const self: ConnectRouter = {
      handlers: router.handlers,
      service(service, implementation, options) {
        const { methods } = createServiceImplSpec(service, implementation);
        for (const { method, impl } of Object.values(methods)) {
          self.rpc(method, impl as never, options);
        }
        return self;
      },
      rpc(method, implementation, options) {
        const limited = {
          ...options,
          readMaxBytes: limitsOf(method).bodyBytes,
          jsonOptions: {
            ...options?.jsonOptions,
            ignoreUnknownFields: false,
            textDecoder: strictDecoder(method.input),
          },
        };
        add(createMethodImplSpec(method, implementation), limited);
        router.rpc(method, implementation, limited);
        return self;
      },
    };
    return self;
  };
  const methods: Methods = {
    has: (path) => lives.has(withoutQuery(path)),
    method: (path) => all.get(withoutQuery(path)),
    served: (path) => served.get(path),
    lifeMs: (path) => (methods.has(path) ? lives.get(withoutQuery(path)) : defaultTimeLimitMs),
  };
  return { routes: (router: ConnectRouter) => routes(collecting(router)), methods };
}

const withoutQuery = (path: string): string => path.split("?", 1)[0] ?? "";

/** A client has this time to read the answer of a call that took as long as it may. */
const readTimeMs = 10_000;

/**
 * How long the stream of a call may be open. The server's own streams end long before, unless their
 * clients do not read. A Watch has no end, because clients take it as a sign that the server is
 * unhealthy.
 */
function lifeMs(method: DescMethod, maxTimeoutMs: number): number | undefined {
  if (method === Health.method.watch) return undefined;
  const { methodKind } = method;
  if (methodKind === "server_streaming" || methodKind === "bidi_streaming") return maxTimeoutMs;
  const { bodyTimeMs, timeMs } = limitsOf(method);
  return bodyTimeMs + timeMs + readTimeMs;
}

type Routes = (router: ConnectRouter) => void;

type Options = NonNullable<Parameters<ConnectRouter["rpc"]>[2]>;

function servedMethod(
  spec: ServedMethod["spec"],
  options: Options,
  defaults: Limits,
): ServedMethod {
  const { readMaxBytes, writeMaxBytes, maxTimeoutMs } = { ...defaults, ...options };
  const limits = { readMaxBytes, writeMaxBytes, maxTimeoutMs };
  const lookup = createMethodSerializationLookup(spec.method, binaryOptions, undefined, limits);
  const { parse } = lookup.getI(true);
  const { serialize } = lookup.getO(true);
  const { requestGate: gate, interceptors = [], shutdownSignal } = options;
  return { spec, gate, interceptors, shutdownSignal, limits, parse, serialize };
}
