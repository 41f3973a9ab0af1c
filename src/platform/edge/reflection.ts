/** Server reflection of gRPC: tools such as grpcurl learn services and messages from it. */
import { Code, type HandlerContext } from "@connectrpc/connect";
import type * as v1 from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import type * as v1alpha from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { invalid } from "../messages/invalid-request.ts";
import { DomainError } from "../words/errors.ts";
import { withIdleLimit } from "./idle-limit.ts";
import type { SchemaFile, ServedSchema } from "./served-schema.ts";

/** Clients open the stream again when they need it. */
const defaultIdleMs = 30_000;

/** A request of either version: their fields are the same. */
type Request = v1.ServerReflectionRequest | v1alpha.ServerReflectionRequest;

/** The answer in a response of either version. */
type Answer =
  | { case: "listServicesResponse"; value: { service: { name: string }[] } }
  | { case: "fileDescriptorResponse"; value: { fileDescriptorProto: Uint8Array[] } }
  | {
      case: "allExtensionNumbersResponse";
      value: { baseTypeName: string; extensionNumber: number[] };
    }
  | { case: "errorResponse"; value: { errorCode: number; errorMessage: string } };

/**
 * The handler of `grpc.reflection.v1` and `v1alpha`. Answers what is not there with a NOT_FOUND in
 * the response. Ends with DEADLINE when the client sends nothing for 30 s.
 */
export function reflectionService<R extends Request>(schema: ServedSchema, idleMs = defaultIdleMs) {
  const tooSlow = () => new DomainError("DEADLINE", `no request within ${idleMs} ms`);
  return {
    async *serverReflectionInfo(requests: AsyncIterable<R>, { signal }: HandlerContext) {
      const sent = new Set<SchemaFile>();
      for await (const request of withIdleLimit(requests, signal, idleMs, tooSlow)) {
        const messageResponse = answer(schema, request, sent);
        yield { validHost: request.host, originalRequest: request, messageResponse };
      }
    },
  };
}

/** `sent` has the files that this stream has sent. */
function answer(
  schema: ServedSchema,
  { messageRequest: { case: name, value } }: Request,
  sent: Set<SchemaFile>,
): Answer {
  switch (name) {
    case "listServices": {
      const service = schema.serviceNames.map((name) => ({ name }));
      return { case: "listServicesResponse", value: { service } };
    }
    case "fileByFilename":
      return sendFile(schema.fileByName(value), value, sent);
    case "fileContainingSymbol":
      return sendFile(schema.fileOfSymbol(value), value, sent);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = value;
      const file = schema.fileOfExtension(containingType, extensionNumber);
      return sendFile(file, `extension ${extensionNumber} of ${containingType}`, sent);
    }
    case "allExtensionNumbersOfType": {
      const extensionNumber = schema.extensionNumbersOf(value);
      if (extensionNumber === undefined) return notFound(value);
      const numbers = { baseTypeName: value, extensionNumber };
      return { case: "allExtensionNumbersResponse", value: numbers };
    }
    case undefined:
      throw invalid("message_request", "is required");
  }
}

/** Sends a file, followed by those of its transitive imports that this stream has not sent. */
function sendFile(file: SchemaFile | undefined, what: string, sent: Set<SchemaFile>): Answer {
  if (file === undefined) return notFound(what);
  const files: SchemaFile[] = [];
  const add = (one: SchemaFile): void => {
    sent.add(one);
    files.push(one);
    for (const imported of one.imports) if (!sent.has(imported)) add(imported);
  };
  add(file);
  const value = { fileDescriptorProto: files.map(({ bytes }) => bytes) };
  return { case: "fileDescriptorResponse", value };
}

const notFound = (what: string): Answer => ({
  case: "errorResponse",
  value: { errorCode: Code.NotFound, errorMessage: `there is no ${what}` },
});
