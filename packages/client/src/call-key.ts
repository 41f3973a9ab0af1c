/** Reads the key of a call, such as its account, from what the contract says of its fields. */
import { type DescField, type DescMessage, getOption } from "@bufbuild/protobuf";
import { Role, role } from "../../../src/gen/meguri/access/v1/access_pb.ts";

/** Returns the key of a request, which may be a message or the start of one. */
export type KeyReader = (request: unknown) => string | undefined;

type Fields = Readonly<Record<string, unknown>>;
type FieldReader = (message: Fields) => unknown;

/** How to read the first field of each role. */
type RoleReaders = ReadonlyMap<Role, FieldReader>;

/**
 * Returns the reader for the requests of this type; undefined if nothing in it has a key. The key
 * is the owner, else the target, else the account. Calls of one key change the same records, so
 * they cost least on one server.
 */
export function keyReaderOf(input: DescMessage): KeyReader | undefined {
  const readers = readersOf(input, new Set());
  const owner = readers.get(Role.OWNER);
  const target = readers.get(Role.TARGET);
  const program = readers.get(Role.PROGRAM);
  const user = readers.get(Role.USER);
  if (!owner && !target && !user) return undefined;
  return (request) => {
    const fields = request as Fields;
    const ownerId = textOf(owner?.(fields));
    if (ownerId) return `o/${ownerId}`;
    const { type, id } = (target?.(fields) ?? {}) as Fields;
    if (textOf(type) && textOf(id)) return `t/${type}/${id}`;
    const userId = textOf(user?.(fields));
    return userId ? `a/${textOf(program?.(fields)) || "default"}/${userId}` : undefined;
  };
}

/** Finds the fields with a role, also in nested messages: of a list, in its first element. */
function readersOf(message: DescMessage, path: ReadonlySet<DescMessage>): RoleReaders {
  const readers = new Map<Role, FieldReader>();
  if (path.has(message)) return readers;
  for (const field of message.fields) {
    const read = readerOf(field);
    const found = getOption(field, role);
    if (found !== Role.UNSPECIFIED) {
      if (!readers.has(found)) readers.set(found, read);
    } else if (field.message && field.fieldKind !== "map") {
      for (const [nested, readNested] of readersOf(field.message, new Set([...path, message]))) {
        if (readers.has(nested)) continue;
        readers.set(nested, (fields) => {
          const inner = read(fields);
          return typeof inner === "object" && inner !== null ? readNested(inner as Fields) : inner;
        });
      }
    }
  }
  return readers;
}

/** Reads a field: of a list its first element, of a oneof the chosen one. */
function readerOf({ localName, oneof, fieldKind }: DescField): FieldReader {
  if (oneof) {
    return (message) => {
      const chosen = message[oneof.localName] as { case?: unknown; value?: unknown } | undefined;
      return chosen?.case === localName ? chosen.value : undefined;
    };
  }
  if (fieldKind !== "list") return (message) => message[localName];
  return (message) => (message[localName] as readonly unknown[] | undefined)?.[0];
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
