/** The fields of stored records: how their properties become attributes of items, and back. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { type Item, N, S } from "./sdk/attributes.ts";

/** How values of one type are stored. */
export interface Type<T> {
  readonly encode: (value: T) => AttributeValue;
  /** Undefined for a stored value of another type. */
  readonly decode: (stored: AttributeValue) => T | undefined;
  /**
   * The value of an attribute that is missing, or of another type: 0, an empty text or list. One
   * damaged item must not keep a page of others from being read; what reads it compares.
   */
  readonly none: () => T;
}

/** How a property of a record is stored, mostly as one attribute. */
export interface Field<T> {
  /** The attribute that is absent exactly if the property is. */
  readonly attribute: string;
  readonly isOptional?: true;
  /** Sets the attributes of a value. */
  readonly put: (value: T, item: Item) => void;
  /** Reads the value. */
  readonly get: (item: Item) => T;
}

/** A field for each property; a property that may be absent needs a field that may be, too. */
export type Fields<T> = {
  readonly [P in keyof T]-?: Record<never, never> extends Pick<T, P>
    ? Field<T[P] | undefined>
    : Field<T[P]>;
};

/** Decodes what may be missing. */
const decoded = <T>({ decode, none }: Type<T>, stored: AttributeValue | undefined): T =>
  (stored && decode(stored)) ?? none();

export const text: Type<string> = {
  encode: S,
  decode: ({ S: value }) => value,
  none: () => "",
};

/** One of some texts. A text that is not known, such as one of a later version, is kept. */
export const oneOf = <T extends string>(): Type<T> => text as unknown as Type<T>;

export const number: Type<number> = {
  encode: N,
  decode: ({ N: value }) => (value === undefined ? undefined : Number(value)),
  none: () => 0,
};

/** A number as a text of digits, of which DynamoDB keeps 38. */
export const digits: Type<string> = {
  encode: (value) => ({ N: value }),
  decode: ({ N: value }) => value,
  none: () => "0",
};

export const bool: Type<boolean> = {
  encode: (value) => ({ BOOL: value }),
  decode: ({ BOOL: value }) => value,
  none: () => false,
};

/** True. What is not true has no attribute. */
export const yes = bool as unknown as Type<true>;

export const list = <T>(type: Type<T>): Type<readonly T[]> => ({
  encode: (values) => ({ L: values.map(type.encode) }),
  decode: ({ L: values }) => values?.map((value) => decoded(type, value)),
  none: () => [],
});

/** Values of one type by names. */
export const byName = <T>(type: Type<T>): Type<Readonly<Record<string, T>>> => ({
  encode: (values) => ({
    M: Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, type.encode(value)]),
    ),
  }),
  decode: ({ M: values }) =>
    values &&
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, decoded(type, value)])),
  none: () => ({}),
});

/** A map with attributes of its own. */
export function map<T extends object>(fields: Fields<T>): Type<T> {
  const { put, get } = group(fields);
  return {
    encode(value) {
      const item: Item = {};
      put(value, item);
      return { M: item };
    },
    decode: ({ M: item }) => item && get(item),
    none: () => get({}),
  };
}

/** The types of the properties of a tuple, in their stored order. The last ones may be absent. */
type Types<T> = { readonly [P in keyof T]-?: Type<Exclude<T[P], undefined>> };

/** An object as a list of its properties, of which those after the `required` may be absent. */
export function tuple<T extends object>(types: Types<T>, required = Object.keys(types).length) {
  const all = Object.entries(types) as [string, Type<unknown>][];
  // A list is taken as an item whose attributes are named by their places.
  const fields = all.map(([name, type], i) => [
    name,
    i < required ? field(`${i}`, type) : optional(`${i}`, type),
  ]);
  const { put, get } = group<T>(Object.fromEntries(fields));
  return {
    size: all.length,
    encode(value: T) {
      const values: AttributeValue[] = [];
      put(value, values as unknown as Item);
      return { L: values };
    },
    decode: ({ L: values }: AttributeValue) => values && get(values as unknown as Item),
    none: () => get({}),
  };
}

/** Objects as one list of the properties of all. */
export const flat = <T extends object>(types: Types<T>): Type<readonly T[]> => {
  const type = tuple<T>(types);
  const { size } = type;
  return {
    encode: (values) => ({ L: values.flatMap((value) => type.encode(value).L) }),
    decode: ({ L: all }) =>
      all &&
      Array.from({ length: all.length / size }, (_, i) =>
        decoded<T>(type, { L: all.slice(size * i, size * (i + 1)) }),
      ),
    none: () => [],
  };
};

/** Values that are stored in another form. */
export const as = <T, F>(
  { encode, decode, none }: Type<F>,
  to: (value: T) => F,
  from: (stored: F) => T,
): Type<T> => ({
  encode: (value) => encode(to(value)),
  decode(stored) {
    const found = decode(stored);
    return found === undefined ? undefined : from(found);
  },
  none: () => from(none()),
});

/** A property that a record always has. */
export const field = <T>(attribute: string, type: Type<T>): Field<T> => ({
  attribute,
  put(value, item) {
    item[attribute] = type.encode(value);
  },
  get: (item) => decoded(type, item[attribute]),
});

/** A property that may be absent. */
export const maybe = <T>({ attribute, put, get }: Field<T>): Field<T | undefined> => ({
  attribute,
  isOptional: true,
  put(value, item) {
    if (value !== undefined) put(value, item);
  },
  get: (item) => (item[attribute] === undefined ? undefined : get(item)),
});

export const optional = <T>(attribute: string, type: Type<T>): Field<T | undefined> =>
  maybe(field(attribute, type));

/** A property that is stored only where it is not the usual value. */
export function unless<T>(usual: T, attribute: string, type: Type<T>): Field<T> {
  const { put, get } = field(attribute, type);
  return {
    attribute,
    put(value, item) {
      if (value !== usual) put(value, item);
    },
    get: (item) => (item[attribute] === undefined ? usual : get(item)),
  };
}

/** A list, or values by names, that is stored only where it has values. */
export function unlessEmpty<T extends object>(attribute: string, type: Type<T>): Field<T> {
  const { put, get } = field(attribute, type);
  return {
    attribute,
    put(values, item) {
      const isEmpty = (Array.isArray(values) ? values : Object.keys(values)).length === 0;
      if (!isEmpty) put(values, item);
    },
    get,
  };
}

/** A number that is stored only where it is not that of another attribute, which is put before. */
export function unlessSame(attribute: string, other: string): Field<number> {
  const [own, same] = [field(attribute, number), field(other, number)];
  return {
    attribute,
    put(value, item) {
      if (item[other]?.N !== String(value)) own.put(value, item);
    },
    get: (item) => (item[attribute] === undefined ? same : own).get(item),
  };
}

/** One of two values: the attribute is there for the first one only. */
export const either = <T>(attribute: string, marked: T, usual: T): Field<T> => ({
  attribute,
  put(value, item) {
    if (value === marked) item[attribute] = { BOOL: true };
  },
  get: (item) => (item[attribute]?.BOOL === true ? marked : usual),
});

export const flag = (attribute: string): Field<boolean> => either(attribute, true, false);

/** A number of a list that several properties share, in their order. */
export const numberAt = (attribute: string, index: number): Field<number> => ({
  attribute,
  put(value, item) {
    const values = item[attribute]?.L ?? [];
    values[index] = N(value);
    item[attribute] = { L: values };
  },
  get: (item) => decoded(number, item[attribute]?.L?.[index]),
});

/** A property that keys contain, which the record makes of it: it is only read here. */
export const inKey = <T>(attribute: string, read: (key: string) => T): Field<T> => ({
  attribute,
  put: () => undefined,
  get: (item) => read(item[attribute]?.S ?? ""),
});

/** A part of a key, whose parts are joined by `#`. */
export const partOf = <T extends string = string>(attribute: string, index: number): Field<T> =>
  inKey(attribute, (key) => (key.split("#")[index] ?? "") as T);

/** A part of a key that is a number. */
export const numberOf = (attribute: string, index: number): Field<number> =>
  inKey(attribute, (key) => Number(key.split("#")[index]));

/** The fields of an object. The first one must not be optional. */
export function group<T extends object>(fields: Fields<T>): Field<T> {
  const all = Object.values(fields) as Field<unknown>[];
  const names = Object.keys(fields).map((name) => JSON.stringify(name));
  const isOptional = (i: number) => all[i]?.isOptional === true;
  const puts = names.map(
    (name, i) => `if (value[${name}] !== undefined) f${i}.put(value[${name}], item);`,
  );
  const gets = names.map((name, i) => (isOptional(i) ? "" : `${name}: f${i}.get(item),`));
  const more = names.map((name, i) =>
    isOptional(i)
      ? `const v${i} = f${i}.get(item); if (v${i} !== undefined) value[${name}] = v${i};`
      : "",
  );
  return {
    attribute: all[0]?.attribute as string,
    put: compile(all, `(value, item) => { ${puts.join("\n")} }`),
    get: compile(
      all,
      `(item) => { const value = { ${gets.join("")} }; ${more.join("\n")} return value; }`,
    ),
  };
}

/**
 * Makes a function of its text, in which the fields are f0, f1 and so on. With the names of the
 * properties in its text, V8 makes an object 20 times faster than by a loop over names. The names
 * are those of our own types: nothing that was stored or sent is in the text.
 */
const compile = (fields: readonly Field<unknown>[], text: string) =>
  new Function(...fields.map((_, i) => `f${i}`), `return ${text}`)(...fields);
