/** Defines how the records of one kind are stored: each property once, for both directions. */
import type { Kind, Records } from "../ports/records.ts";
import type { Codec } from "./codec.ts";
import { type Fields, group } from "./fields.ts";
import type { Item } from "./sdk/attributes.ts";

/** A codec whose values are described by fields. */
interface Definition<K extends Kind> extends Omit<Codec<K>, "encode" | "decode"> {
  readonly fields: Fields<Records[K]>;
  /** Attributes that follow from the fields, such as the keys of indexes. */
  readonly derived?: (value: Records[K]) => Item;
}

export function defineRecord<K extends Kind>(definition: Definition<K>): Codec<K> {
  const { fields, derived, ...rest } = definition;
  const { put, get } = group<Records[K]>(fields);
  return {
    ...rest,
    encode(value) {
      const item = derived ? derived(value) : {};
      put(value, item);
      return item;
    },
    decode: get,
  };
}
