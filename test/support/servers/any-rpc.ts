/** Calls any RPC of the contract. */
import { type CallOptions, createClient, type Transport } from "@connectrpc/connect";
import { services } from "../fixtures/descriptors.ts";
import type { Init } from "../fixtures/good-requests.ts";

export const rpcs = services.flatMap((service) =>
  service.methods.map((method) => ({ name: method.name, method, service })),
);

export type Rpc = (typeof rpcs)[number];

type Call = (request: Init | AsyncIterable<Init>, options?: CallOptions) => unknown;

async function* inStream(request: Init) {
  yield request;
}

/** Sends one request. Returns the answer; of a stream of answers the first one, if any. */
export async function callRpc(
  { service, method }: Rpc,
  transport: Transport,
  request: Init,
  options?: CallOptions,
): Promise<unknown> {
  const client = createClient(service, transport) as unknown as Record<string, Call>;
  const isUpload = method.methodKind === "client_streaming";
  const answer = client[method.localName]?.(isUpload ? inStream(request) : request, options);
  if (isUpload || method.methodKind === "unary") return answer;
  for await (const message of answer as AsyncIterable<unknown>) return message;
  return undefined;
}
