/**
 * Maps the names of what crosses Temporal: operators read payloads and heartbeats beside Protobuf
 * JSON, whose names are snake_case; the code has camelCase.
 */

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

/** The same plain JSON with the names of its properties in snake_case. */
export type SnakeCased<T> = T extends number
  ? T
  : T extends readonly (infer Item)[]
    ? readonly SnakeCased<Item>[]
    : T extends object
      ? { [Name in keyof T as SnakeCase<Name & string>]: SnakeCased<T[Name]> }
      : T;

/** The same plain JSON with the names of its properties in camelCase. */
export type CamelCased<T> = T extends number
  ? T
  : T extends readonly (infer Item)[]
    ? readonly CamelCased<Item>[]
    : T extends object
      ? { [Name in keyof T as CamelCase<Name & string>]: CamelCased<T[Name]> }
      : T;

/** Spells the names of plain JSON in snake_case, at every depth; codes such as ID_REUSED stay. */
export const snakeCased = <T>(value: T): SnakeCased<T> =>
  respelled(value, (name) =>
    name.replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  ) as SnakeCased<T>;

/** Spells the names of what `snakeCased` has returned as they were. */
export const camelCased = <T>(value: SnakeCased<T>): T =>
  respelled(value, (name) =>
    name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
  ) as T;

function respelled(value: unknown, spell: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => respelled(item, spell));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, of]) => [spell(name), respelled(of, spell)]);
  return Object.fromEntries(entries);
}
