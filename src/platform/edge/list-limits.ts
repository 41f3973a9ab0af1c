/** Refuses lists that are too long before the rules of each of their items are evaluated. */
import { type DescField, type DescMessage, getOption, type Message } from "@bufbuild/protobuf";
import * as validate from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { invalid } from "../messages/invalid-request.ts";
import { allowedText } from "./violation-texts.ts";

/** The lists in a message with a rule of their length, and the fields that lead to such lists. */
interface Lists {
  readonly limited: readonly { readonly field: DescField; readonly maxItems: bigint }[];
  readonly nested: readonly (DescField & { readonly message: DescMessage })[];
}

/**
 * Throws INVALID_REQUEST for the first list with more items than its rule allows. The validator
 * would evaluate the rules of every item first, which takes seconds for those of a small message.
 */
export function requireShortLists(schema: DescMessage, message: Message, path = ""): void {
  const { limited, nested } = listsIn(schema);
  for (const { field, maxItems } of limited) {
    const list = fieldValue(message, field);
    if (Array.isArray(list) && list.length > maxItems) {
      throw invalid(path + field.name, allowedText(field));
    }
  }
  for (const field of nested) {
    const value = fieldValue(message, field);
    const inner = Array.isArray(value) ? value : value === undefined ? [] : [value];
    for (const one of inner) requireShortLists(field.message, one, `${path}${field.name}.`);
  }
}

/** The value of a field of a message, or of the oneof that it belongs to. */
function fieldValue(message: Message, field: DescField): unknown {
  const fields = message as unknown as Record<string, unknown>;
  if (field.oneof === undefined) return fields[field.localName];
  const chosen = fields[field.oneof.localName] as { case?: string; value?: unknown };
  return chosen.case === field.localName ? chosen.value : undefined;
}

const known = new WeakMap<DescMessage, Lists>();

function listsIn(message: DescMessage): Lists {
  const found = known.get(message);
  if (found) return found;
  const limited = message.fields.flatMap((field) => {
    const { type } = getOption(field, validate.field);
    const maxItems = type.case === "repeated" ? type.value.maxItems : 0n;
    return maxItems > 0n ? [{ field, maxItems }] : [];
  });
  const nested = message.fields.filter(
    (field): field is DescField & { message: DescMessage } =>
      field.message !== undefined && hasLists(field.message),
  );
  const lists = { limited, nested };
  known.set(message, lists);
  return lists;
}

const hasLists = (message: DescMessage): boolean => {
  const { limited, nested } = listsIn(message);
  return limited.length + nested.length > 0;
};
