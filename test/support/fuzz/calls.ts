/** Sends one request as raw bytes in the forms of all protocols, and reads the answer's code. */
import { type ClientHttp2Session, constants } from "node:http2";
import { type FuzzRequest, toBytes, toText } from "./messages.ts";

export const protocols = [
  "gRPC",
  "gRPC JSON",
  "gRPC-Web",
  "gRPC-Web JSON",
  "Connect",
  "Connect JSON",
] as const;
type Protocol = (typeof protocols)[number];

/** Where the server is: a session on the port of HTTP/2, and the URL of the port of HTTP/1.1. */
export interface Target {
  readonly session: ClientHttp2Session;
  readonly http1: string;
}

/** The deadline of each call, which ends the streams. */
const timeoutMs = 1_000;

/** A call that has no answer so long after its deadline never gets one. */
const patienceMs = 30_000;

/** Sends a request, and returns the code of the answer by its name or number: `internal`, `13`. */
export async function codeOf(
  { session, http1 }: Target,
  protocol: Protocol,
  request: FuzzRequest,
): Promise<string> {
  const { method } = request;
  const path = `/${method.parent.typeName}/${method.name}`;
  const isJson = protocol.endsWith("JSON");
  const message = isJson ? Buffer.from(toText(request)) : Buffer.from(toBytes(request));
  const format = isJson ? "json" : "proto";
  const common = { "meguri-caller": "fuzz" };
  if (protocol.startsWith("gRPC-Web")) {
    const headers = { ...common, "content-type": `application/grpc-web+${format}`, ...grpcTimeout };
    const response = await post(http1 + path, headers, frame(message, request));
    return statusIn(response);
  }
  if (protocol.startsWith("gRPC")) {
    const headers = { ...common, "content-type": `application/grpc+${format}`, ...grpcTimeout };
    return grpcCode(session, path, headers, frame(message, request));
  }
  const isUnary = method.methodKind === "unary";
  const headers = {
    ...common,
    "content-type": isUnary ? `application/${format}` : `application/connect+${format}`,
    "connect-timeout-ms": String(timeoutMs),
  };
  const body = isUnary ? message : frame(message, request);
  return connectCode(await post(http1 + path, headers, body), isUnary);
}

const grpcTimeout = { te: "trailers", "grpc-timeout": `${timeoutMs}m` };

/** The envelope of a message. One in eight is wrong: its flags, or its length. */
function frame(message: Buffer, { choice }: FuzzRequest): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  if (choice % 16 === 3) head.writeUInt32BE((choice * 3) % 2 ** 32, 1);
  if (choice % 16 === 5) head[0] = choice % 256;
  return Buffer.concat([head, message]);
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

async function post(url: string, headers: Record<string, string>, body: Buffer): Promise<Answer> {
  const signal = AbortSignal.timeout(patienceMs);
  const response = await fetch(url, {
    method: "POST",
    headers,
    body: Uint8Array.from(body),
    signal,
  });
  const { status, headers: received } = response;
  return { status, headers: received, body: Buffer.from(await response.arrayBuffer()) };
}

/** The code in the headers, or in the trailers at the end of the body. */
function statusIn({ status, headers, body }: Answer): string {
  const text = headers.get("grpc-status") ?? /grpc-status: ?(\d+)/.exec(body.toString())?.[1];
  return text ?? `HTTP ${status}`;
}

function connectCode({ status, body }: Answer, isUnary: boolean): string {
  if (isUnary && status === 200) return "ok";
  const text = body.toString();
  const [, code] = /"code":"(\w+)"/.exec(text) ?? [];
  return code ?? (status === 200 ? "ok" : `HTTP ${status}`);
}

async function grpcCode(
  session: ClientHttp2Session,
  path: string,
  headers: Record<string, string>,
  body: Buffer,
): Promise<string> {
  const stream = session.request({ ":method": "POST", ":path": path, ...headers });
  let code: string | undefined;
  const note = (received: Record<string, unknown>) => {
    code = String(received["grpc-status"] ?? code ?? `HTTP ${received[":status"]}`);
  };
  stream.on("response", note);
  stream.on("trailers", note);
  // A client stops sending when it has the answer, as gRPC's clients do: what the server does not
  // read keeps the window of the session. A stream that the server has closed by then would wait
  // for ever to send the rest of its message.
  stream.on("end", () => {
    stream.close(constants.NGHTTP2_CANCEL);
    stream.destroy();
  });
  // The server resets a stream when its session holds too much memory.
  stream.on("error", () => undefined);
  stream.resume();
  stream.end(body);
  await new Promise<void>((resolve, reject) => {
    stream.on("close", resolve);
    stream.setTimeout(patienceMs, () => reject(new Error("no answer")));
  });
  return code ?? `reset ${stream.rstCode}`;
}
