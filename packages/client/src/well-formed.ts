/** Refuses texts that no server can receive as they are: half a surrogate pair has no UTF-8. */
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { refusalOfField } from "./errors.ts";

/** The messages of a stream, each checked before it is sent. */
export async function* withCheckedTexts<T>(
  schema: DescMessage,
  requests: AsyncIterable<T>,
): AsyncGenerator<T> {
  for await (const request of requests) {
    checkTexts(schema, request);
    yield request;
  }
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Throws the refusal INVALID_REQUEST, with the path of the field, for a text in a request that has
 * a lone surrogate. Protobuf-ES would send U+FFFD in its place, which the server would store.
 */
export function checkTexts(schema: DescMessage, request: unknown): void {
  const path = findBadText(schema, request);
  if (path !== undefined) {
    throw refusalOfField(path, "has half a surrogate pair, which is no character");
  }
}

/** Returns the path of the first such text, in the schema's names. */
function findBadText(schema: DescMessage, message: unknown): string | undefined {
  if (typeof message !== "object" || message === null) return undefined;
  for (const field of schema.fields) {
    const found = findInValue(field, valueOfField(field, message as Fields));
    if (found !== undefined) return `${field.name}${found}`;
  }
  return undefined;
}

/** The value of a field; of one in a oneof only if it is the chosen one. */
function valueOfField({ localName, oneof }: DescField, message: Fields): unknown {
  if (!oneof) return message[localName];
  const chosen = message[oneof.localName] as { case?: unknown; value?: unknown } | undefined;
  return chosen?.case === localName ? chosen.value : undefined;
}

/** Returns the rest of the path behind the name of the field. */
function findInValue(field: DescField, value: unknown): string | undefined {
  if (field.fieldKind === "list" && Array.isArray(value)) {
    for (const [i, item] of value.entries()) {
      const found = findInItem(field, item);
      if (found !== undefined) return `[${i}]${found}`;
    }
    return undefined;
  }
  return findInItem(field, value);
}

function findInItem({ scalar, message }: DescField, item: unknown): string | undefined {
  if (scalar === ScalarType.STRING) {
    return typeof item === "string" && !item.isWellFormed() ? "" : undefined;
  }
  const found = message && findBadText(message, item);
  return found === undefined ? undefined : `.${found}`;
}
