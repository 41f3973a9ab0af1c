/** An index of the proto files that define the served services, for server reflection. */
import {
  createRegistry,
  type DescEnum,
  type DescExtension,
  type DescFile,
  type DescMessage,
  type DescService,
  toBinary,
} from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";

/** A file as reflection sends it. */
export interface SchemaFile {
  /** The name by which other files import it. */
  readonly name: string;
  /** A serialized `google.protobuf.FileDescriptorProto`. */
  readonly bytes: Uint8Array;
  readonly imports: readonly SchemaFile[];
}

/** The files of the served services, those of the details of errors, and all that they import. */
export interface ServedSchema {
  /** The full names of the services, sorted. */
  readonly serviceNames: readonly string[];
  fileByName(name: string): SchemaFile | undefined;
  /** The file that declares a type, method, field or enum value, by its full name. */
  fileOfSymbol(name: string): SchemaFile | undefined;
  /** The file that declares the extension of this message with this number. */
  fileOfExtension(messageName: string, number: number): SchemaFile | undefined;
  /** The numbers of all extensions of a message, sorted; undefined for an unknown message. */
  extensionNumbersOf(messageName: string): number[] | undefined;
}

export function createServedSchema(services: readonly DescService[]): ServedSchema {
  const files = new Map<DescFile, SchemaFile>();
  for (const { file } of services) addFile(files, file);
  // No service imports it, but tools can show the details of errors only if they find it.
  addFile(files, file_google_rpc_error_details);
  const registry = createRegistry(...files.keys());
  const byName = new Map([...files.values()].map((file) => [file.name, file]));
  const bySymbol = new Map(
    [...files].flatMap(([desc, file]) => symbolsOf(desc).map((name) => [name, file])),
  );
  const extensions = [...registry].filter((type) => type.kind === "extension");
  const extensionsOf = (messageName: string): DescExtension[] =>
    extensions.filter(({ extendee }) => extendee.typeName === messageName);
  return {
    serviceNames: services.map(({ typeName }) => typeName).toSorted(),
    fileByName: (name) => byName.get(name),
    fileOfSymbol: (name) => bySymbol.get(name),
    fileOfExtension(messageName, number) {
      const found = extensionsOf(messageName).find((extension) => extension.number === number);
      return found && files.get(found.file);
    },
    extensionNumbersOf(messageName) {
      if (registry.getMessage(messageName) === undefined) return undefined;
      return extensionsOf(messageName)
        .map(({ number }) => number)
        .toSorted((a, b) => a - b);
    },
  };
}

/** Adds a file after those that it imports. */
function addFile(files: Map<DescFile, SchemaFile>, desc: DescFile): SchemaFile {
  const known = files.get(desc);
  if (known) return known;
  const imports = desc.dependencies.map((imported) => addFile(files, imported));
  const bytes = toBinary(FileDescriptorProtoSchema, desc.proto);
  const file = { name: desc.proto.name, bytes, imports };
  files.set(desc, file);
  return file;
}

/** The full names of all that a file declares. */
const symbolsOf = (file: DescFile): string[] =>
  [...nestedTypes(file)].flatMap((type) => [type.typeName, ...membersOf(type)]);

type Type = DescMessage | DescEnum | DescService | DescExtension;

function membersOf(type: Type): string[] {
  const { typeName } = type;
  switch (type.kind) {
    case "message":
      return [...type.fields, ...type.oneofs].map(({ name }) => `${typeName}.${name}`);
    case "enum":
      // Values are siblings of their enum.
      return type.values.map(({ name }) => typeName.replace(/\w+$/, name));
    case "service":
      return type.methods.map(({ name }) => `${typeName}.${name}`);
    case "extension":
      return [];
  }
}
