/** Reads from an update which fields of the resource it changes (AIP-134). */
import { type DescMessage, isFieldSet, type MessageShape } from "@bufbuild/protobuf";
import type { FieldMask } from "@bufbuild/protobuf/wkt";
import { InvalidRequest, invalid } from "./invalid-request.ts";

/** A resource that calls can update. Its fields have their names in the schema. */
interface UpdatableResource<S extends DescMessage> {
  readonly schema: S;
  /** The field of the request that has the resource. */
  readonly path: string;
  /** The fields that name the resource and its version. */
  readonly key: readonly string[];
  /** The fields that an update can change. */
  readonly updatable: readonly string[];
}

/**
 * Returns the fields of `resource` that the mask names: all updatable ones for "*", and without a
 * mask those that are not empty. Throws INVALID_REQUEST for a mask with another field, and without
 * a mask for a field that is not empty and cannot be updated.
 */
export function maskedFields<S extends DescMessage>(
  { schema, path, key, updatable }: UpdatableResource<S>,
  resource: MessageShape<S>,
  mask: FieldMask | undefined,
): Partial<MessageShape<S>> {
  const paths = mask?.paths ?? [];
  const other = paths.find((name) => name !== "*" && !updatable.includes(name));
  if (other !== undefined) throw invalid("update_mask", `only ${updatable.join(", ")} and *`);
  const named = schema.fields.filter((field) => {
    if (paths.length === 0) return isFieldSet(resource, field) && !key.includes(field.name);
    return updatable.includes(field.name) && (paths.includes("*") || paths.includes(field.name));
  });
  const fixed = named.filter(({ name }) => !updatable.includes(name));
  if (fixed.length > 0) {
    const description = "cannot be updated; leave it empty, or send an update_mask";
    throw new InvalidRequest(fixed.map(({ name }) => ({ field: `${path}.${name}`, description })));
  }
  const values = resource as Readonly<Record<string, unknown>>;
  const found = named.map(({ localName }) => [localName, values[localName]]);
  return Object.fromEntries(found) as Partial<MessageShape<S>>;
}
