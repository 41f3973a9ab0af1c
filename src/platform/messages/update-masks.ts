/** Reads from an update which fields of the resource it changes (AIP-134). */
import { type DescMessage, isFieldSet, type MessageShape } from "@bufbuild/protobuf";
import type { FieldMask } from "@bufbuild/protobuf/wkt";
import { invalid } from "./invalid-request.ts";

/**
 * Returns the fields of `resource` that the mask names: all `updatable` ones for "*", and without a
 * mask those that are not empty. `updatable` has their names in the schema. Throws INVALID_REQUEST
 * for a mask with another field.
 */
export function maskedFields<S extends DescMessage>(
  schema: S,
  resource: MessageShape<S>,
  mask: FieldMask | undefined,
  updatable: readonly string[],
): Partial<MessageShape<S>> {
  const paths = mask?.paths ?? [];
  const other = paths.find((path) => path !== "*" && !updatable.includes(path));
  if (other !== undefined) throw invalid("update_mask", `only ${updatable.join(", ")} and *`);
  const masked = schema.fields.filter((field) => {
    if (!updatable.includes(field.name)) return false;
    if (paths.length === 0) return isFieldSet(resource, field);
    return paths.includes("*") || paths.includes(field.name);
  });
  const values = resource as Readonly<Record<string, unknown>>;
  const found = masked.map(({ localName }) => [localName, values[localName]]);
  return Object.fromEntries(found) as Partial<MessageShape<S>>;
}
