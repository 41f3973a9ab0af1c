/**
 * The server under test of Connect's conformance suite: its service behind our own listeners. Reads
 * a ServerCompatRequest on stdin and writes a ServerCompatResponse to stdout, each after its length
 * in 4 bytes. The argument is the file with the descriptors of the suite.
 */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import {
  create,
  createFileRegistry,
  type DescMessage,
  type DescService,
  fromBinary,
  type MessageInitShape,
  setExtension,
  toBinary,
} from "@bufbuild/protobuf";
import {
  FieldDescriptorProto_Type,
  type FileDescriptorSet,
  FileDescriptorSetSchema,
  MethodOptionsSchema,
} from "@bufbuild/protobuf/wkt";
import { body_limit, scope } from "../../../src/gen/meguri/access/v1/access_pb.ts";
import { admitCallers } from "../../../src/platform/edge/admission.ts";
import { publicInterceptors } from "../../../src/platform/edge/interceptors.ts";
import { createListeners } from "../../../src/platform/edge/listeners.ts";
import type { Authenticate } from "../../../src/platform/ports/identity.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { conformanceService } from "./conformance-service.ts";

/** The fields of a ServerCompatRequest that are read here. */
interface ServerRequest {
  readonly httpVersion: number;
  readonly useTls: boolean;
  readonly clientTlsCert: Uint8Array;
  readonly messageReceiveLimit: number;
  readonly serverCreds?: { readonly cert: Uint8Array; readonly key: Uint8Array };
}

const host = "127.0.0.1";
const http1 = 1;
const lengthBytes = 4;

/** The body limit of cases that set none. */
const defaultLimit = 2 ** 20;

const [file = ""] = process.argv.slice(2);
const registry = createFileRegistry(withoutUint32(await readFile(file)));

const request = fromBinary(
  messageOf("ServerCompatRequest"),
  readStdin(),
) as unknown as ServerRequest;
const { cert, key } = request.serverCreds ?? {};
const { clientTlsCert } = request;
const options = { ...(clientTlsCert.length > 0 && { ca: Buffer.from(clientTlsCert) }) };
const certificates = request.useTls
  ? {
      current: () => ({ ...options, cert: Buffer.from(cert ?? ""), key: Buffer.from(key ?? "") }),
      onChange: () => {},
    }
  : undefined;

const service = limitedService(request.messageReceiveLimit || defaultLimit);
const listeners = createListeners({
  routes(router) {
    router.service(service, conformanceService(registry), {
      requestGate: admitCallers({ authenticate: asTests, maxSheets: 1_000 }),
      interceptors: publicInterceptors(),
      jsonOptions: { registry },
    });
  },
  certificates,
  corsOrigins: [],
});
const { port, http1Port } = await listeners.listen(host, { port: 0, http1Port: 0 });
writeStdout("ServerCompatResponse", {
  host,
  port: request.httpVersion === http1 ? http1Port : port,
  pemCert: request.useTls ? cert : undefined,
});

/**
 * The descriptors with `int32` for `uint32`. Our reader of JSON takes the types of our contract
 * only, which has no `uint32`; the numbers of the suite are the same in both types.
 */
function withoutUint32(bytes: Uint8Array): FileDescriptorSet {
  const set = fromBinary(FileDescriptorSetSchema, bytes);
  const { UINT32, INT32 } = FieldDescriptorProto_Type;
  for (const { field } of set.file.flatMap(({ messageType }) => messageType)) {
    for (const each of field) if (each.type === UINT32) each.type = INT32;
  }
  return set;
}

/** Lets every call in, as one service. */
function asTests(): ReturnType<Authenticate> {
  return { caller: asService("conformance"), scopes: "all" };
}

function messageOf(name: string): DescMessage {
  const found = registry.getMessage(`connectrpc.conformance.v1.${name}`);
  if (!found) throw new Error(`the suite has no message ${name}`);
  return found;
}

/** The suite's service, whose methods take bodies of at most so many bytes. */
function limitedService(limit: number): DescService {
  const found = registry.getService("connectrpc.conformance.v1.ConformanceService");
  if (!found) throw new Error("the suite has no service");
  for (const { proto } of found.methods) {
    proto.options ??= create(MethodOptionsSchema);
    setExtension(proto.options, body_limit, limit);
    setExtension(proto.options, scope, "conformance");
  }
  return found;
}

/** The message on stdin, which stays open. */
function readStdin(): Uint8Array {
  const input = readFileSync(0);
  return input.subarray(lengthBytes, lengthBytes + input.readUInt32BE());
}

function writeStdout(name: string, init: MessageInitShape<DescMessage>): void {
  const desc = messageOf(name);
  const bytes = toBinary(desc, create(desc, init));
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32BE(bytes.length);
  process.stdout.write(Buffer.concat([length, bytes]));
}
