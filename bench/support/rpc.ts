/**
 * The client of the load generator. It uses grpc-js, which takes a quarter of the CPU time of
 * connect-node's client, because the generator shares the machine with the measured server.
 */
import type { DescMethodUnary } from "@bufbuild/protobuf";
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Client, credentials, Metadata } from "@grpc/grpc-js";

/** One HTTP/2 connection to one server. */
export interface Channel {
  call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    message: MessageInitShape<I>,
  ): Promise<MessageShape<O>>;
  /** Waits for the answer without parsing it. */
  send<I extends DescMessage>(
    method: DescMethodUnary<I, DescMessage>,
    message: MessageInitShape<I>,
  ): Promise<void>;
  close(): void;
}

const deadlineMs = 30_000;

export function openChannel(
  port: number,
  headers: Readonly<Record<string, string>> = { "meguri-caller": "bench" },
): Channel {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
    "grpc.use_local_subchannel_pool": 1,
  });
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);

  function exchange<I extends DescMessage>(
    method: DescMethodUnary<I, DescMessage>,
    message: MessageInitShape<I>,
  ): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        `/${method.parent.typeName}/${method.name}`,
        (init: MessageInitShape<I>) => bufferOf(toBinary(method.input, create(method.input, init))),
        (bytes: Buffer) => bytes,
        message,
        metadata,
        { deadline: Date.now() + deadlineMs },
        (error, bytes) => (error ? reject(error) : resolve(bytes as Buffer)),
      );
    });
  }

  return {
    call: async (method, message) => fromBinary(method.output, await exchange(method, message)),
    async send(method, message) {
      await exchange(method, message);
    },
    close: () => client.close(),
  };
}

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
