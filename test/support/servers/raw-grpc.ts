/** Sends gRPC calls as plain HTTP/2 frames, so that a test can send what no client sends. */
import { once } from "node:events";
import {
  type ClientHttp2Session,
  connect,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";

/** What a call was answered with. Headers are without the date. */
export interface RawAnswer {
  readonly headers: Record<string, unknown>;
  readonly trailers: Record<string, unknown>;
  readonly body: string;
  /** Whether the headers ended the stream: a trailers-only answer. */
  readonly trailersOnly: boolean;
  readonly rstCode: number | undefined;
}

export interface RawCall {
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders;
  /** Each is written as a DATA frame of its own. */
  readonly chunks?: readonly Buffer[];
  /** Leaves the request open, as if more of it were to come. */
  readonly unfinished?: boolean;
}

/** The prefix and the data of one message; `length` is a wrong length to announce. */
export function frame(data: Uint8Array, flags = 0, length = data.byteLength): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flags, 0);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, data]);
}

/** Opens a connection, which the test has to destroy. */
export async function openSession(port: number): Promise<ClientHttp2Session> {
  const session = connect(`http://127.0.0.1:${port}`);
  await once(session, "connect");
  return session;
}

const grpc: OutgoingHttpHeaders = {
  ":method": "POST",
  "content-type": "application/grpc",
  te: "trailers",
};

/** Opens the stream of a call. A header that is undefined is not sent. */
export function open(session: ClientHttp2Session, { path, headers, chunks, unfinished }: RawCall) {
  const all = Object.entries({ ...grpc, ":path": path, ...headers });
  const stream = session.request(
    Object.fromEntries(all.filter(([, value]) => value !== undefined)),
    {
      endStream: false,
    },
  );
  for (const chunk of chunks ?? []) stream.write(chunk);
  if (!unfinished) stream.end();
  return stream;
}

/** Sends a call and waits until the server has closed its stream. */
export async function send(session: ClientHttp2Session, call: RawCall): Promise<RawAnswer> {
  const stream = open(session, call);
  const body: Buffer[] = [];
  let headers: Record<string, unknown> = {};
  let trailers: Record<string, unknown> = {};
  let trailersOnly = false;
  stream.on("response", (found, flags) => {
    headers = plain(found);
    trailersOnly = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
  });
  stream.on("trailers", (found) => {
    trailers = plain(found);
  });
  stream.on("data", (chunk: Buffer) => body.push(chunk));
  await new Promise((resolve) => {
    // A stream that the server resets with an error is closed as well.
    stream.on("error", resolve);
    stream.on("close", resolve);
  });
  const text = Buffer.concat(body).toString("base64");
  return { headers, trailers, body: text, trailersOnly, rstCode: stream.rstCode };
}

function plain(headers: IncomingHttpHeaders): Record<string, unknown> {
  const { date: _, ...others } = headers;
  return Object.fromEntries(Object.entries(others));
}
