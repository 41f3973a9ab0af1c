/** Sends calls to the attacked server as raw bytes. */
import * as http from "node:http";
import type { ClientHttp2Session } from "node:http2";
import { create, type DescMethod, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { frame, type RawAnswer, send } from "../servers/raw-grpc.ts";
import type { LargestInput } from "./largest-inputs.ts";
import type { Ports } from "./target.ts";

export const pathOf = ({ parent, name }: DescMethod) => `/${parent.typeName}/${name}`;

export const encoded = <M extends DescMethod>(method: M, init: MessageInitShape<M["input"]>) =>
  toBinary(method.input, create(method.input, init));

/** The status of an answer, or how its stream was reset. */
export function statusOf({ headers, trailers, rstCode }: RawAnswer): string {
  const status = trailers["grpc-status"] ?? headers["grpc-status"];
  return status === undefined ? `reset ${rstCode}` : `status ${status}`;
}

export const postJson = (
  port: number,
  path: string,
  headers: http.OutgoingHttpHeaders,
  body: Buffer,
): Promise<string> =>
  new Promise((resolve) => {
    const options = { host: "127.0.0.1", port, path, method: "POST" };
    const all = { ...headers, "content-type": "application/json", "content-length": body.length };
    const request = http.request({ ...options, headers: all, agent: false }, (response) => {
      response.resume();
      response.on("close", () => resolve(`HTTP ${response.statusCode}`));
    });
    request.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "error"));
    request.end(body);
  });

/** Sends one input as gRPC or, as JSON, by HTTP/1.1. A stream of the server ends after a while. */
export async function sendInput(
  { http1Port }: Ports,
  session: ClientHttp2Session,
  method: DescMethod,
  { format, body }: LargestInput,
  token: string | undefined,
): Promise<string> {
  const path = pathOf(method);
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  if (format === "json") return postJson(http1Port, path, headers, Buffer.from(body));
  const call = { path, headers: { ...headers, "grpc-timeout": "10S" }, chunks: [frame(body)] };
  return statusOf(await send(session, call));
}
