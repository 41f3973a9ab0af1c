/** Reads the metadata of a reason, texts on the wire, by the types in the table of reasons. */
import {
  type MetadataTypes,
  type Reason,
  reasonTable,
} from "../../../src/platform/words/reasons.ts";

/** The metadata of a reason. An int64, such as an amount of points, is a bigint. */
export type ReasonMetadata<R extends Reason> = Always<MetadataTypes<R>> &
  Sometimes<MetadataTypes<R>>;

type Always<Types> = {
  readonly [Name in keyof Types as Types[Name] extends `${string}?`
    ? never
    : LocalName<Name>]: ValueOf<Types[Name]>;
};

type Sometimes<Types> = {
  readonly [Name in keyof Types as Types[Name] extends `${string}?` ? LocalName<Name> : never]?:
    | ValueOf<Types[Name]>
    | undefined;
};

type ValueOf<Type> = Type extends `int64${string}`
  ? bigint
  : Type extends `integer${string}`
    ? number
    : string;

/** A name of the wire as TypeScript writes it. */
type LocalName<Name> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<LocalName<Rest>>}`
  : Name & string;

/**
 * Returns the metadata of a reason. A value that is unreadable counts as missing. Undefined if one
 * is missing that every error with this reason has.
 */
export function readMetadata<R extends Reason>(
  reason: R,
  texts: Readonly<Record<string, string>>,
): ReasonMetadata<R> | undefined {
  const values: Record<string, bigint | number | string> = {};
  for (const [name, type] of Object.entries(reasonTable[reason].metadata ?? {})) {
    const value = parsed(type, texts[name]);
    if (value !== undefined) values[localNameOf(name)] = value;
    else if (!type.endsWith("?")) return undefined;
  }
  return values as ReasonMetadata<R>;
}

function parsed(type: string, text: string | undefined): bigint | number | string | undefined {
  if (text === undefined || type.startsWith("text")) return text;
  // No int64 has more digits.
  if (!/^-?\d{1,19}$/.test(text)) return undefined;
  const value = BigInt(text);
  if (type.startsWith("int64")) return BigInt.asIntN(64, value) === value ? value : undefined;
  return Number.isSafeInteger(Number(text)) ? Number(text) : undefined;
}

const localNameOf = (name: string): string =>
  name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
