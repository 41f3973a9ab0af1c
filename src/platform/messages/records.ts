/**
 * Maps records to messages by the descriptor of the message, where fields have the same names. What
 * is computed for callers only, and messages of hot calls, are mapped by hand.
 */
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type Message,
  type MessageInitShape,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";
import { type Duration, durationFromMs, type Timestamp } from "@bufbuild/protobuf/wkt";
import {
  type Caller as CallerMessage,
  CallerSchema,
} from "../../gen/meguri/access/v1/caller_pb.ts";
import type { Caller } from "../words/caller.ts";
import { fromCaller } from "./callers.ts";
import { fromInstant } from "./scalars.ts";

/**
 * A value of a record for a field of a message: a number for an int64, an instant for a timestamp,
 * milliseconds for a duration, a name for an enum. Lists and records alike.
 */
type Value<T> = T extends bigint | Timestamp | Duration
  ? number
  : T extends CallerMessage
    ? Caller
    : T extends number
      ? number extends T
        ? number
        : string
      : T extends readonly (infer Item)[]
        ? readonly Value<Item>[]
        : T extends Message
          ? RecordOf<T>
          : T;

/** A record of which a message is made. Values without a field of the message are left out. */
type RecordOf<M extends Message> = {
  readonly [K in Exclude<keyof M, "$typeName" | "$unknown">]?: Value<M[K]> | undefined;
};

/**
 * Returns the message of a record. A property that is undefined leaves its field unset; a oneof is
 * taken as it is. Throws for a name that the enum does not have.
 */
export function fromRecord<D extends DescMessage>(
  desc: D,
  record: RecordOf<MessageShape<D>>,
): MessageInitShape<D> {
  const values = record as Readonly<Record<string, unknown>>;
  const message: Record<string, unknown> = {};
  for (const { name, convert } of fieldsOf(desc)) {
    const value = values[name];
    if (value !== undefined) message[name] = convert(value as never);
  }
  return message as MessageInitShape<D>;
}

/** The name of a value of an enum, without the prefix; undefined for the unspecified one. */
export const toEnumName = <Name extends string>(desc: DescEnum, value: number): Name | undefined =>
  value === 0 ? undefined : (desc.value[value]?.localName as Name | undefined);

type Convert = (value: never) => unknown;

interface MappedField {
  readonly name: string;
  readonly convert: Convert;
}

const mapped = new WeakMap<DescMessage, readonly MappedField[]>();

function fieldsOf(desc: DescMessage): readonly MappedField[] {
  const known = mapped.get(desc);
  if (known) return known;
  const fields = desc.members.map((member) => ({
    name: member.localName,
    convert: member.kind === "field" ? converterOf(member) : unchanged,
  }));
  mapped.set(desc, fields);
  return fields;
}

function converterOf(field: DescField): Convert {
  switch (field.fieldKind) {
    case "list": {
      const convert = ofItem(field);
      return (items: readonly never[]) => items.map(convert);
    }
    case "map":
      return unchanged;
    default:
      return ofItem(field);
  }
}

/** The conversion of a single field, or of an item of a list. */
function ofItem(field: Exclude<DescField, { fieldKind: "map" }>): Convert {
  if (field.message) return ofMessage(field.message);
  if (field.enum) return ofEnum(field.enum);
  return field.scalar === ScalarType.INT64 ? (value: number) => BigInt(value) : unchanged;
}

function ofMessage(desc: DescMessage): Convert {
  if (desc.typeName === "google.protobuf.Timestamp") return fromInstant;
  if (desc.typeName === "google.protobuf.Duration") return durationFromMs;
  if (desc.typeName === CallerSchema.typeName) return fromCaller;
  return (value: never) => fromRecord(desc, value);
}

function ofEnum(desc: DescEnum): Convert {
  const numbers = new Map(desc.values.map(({ localName, number }) => [localName, number]));
  return (name: string) => {
    const number = numbers.get(name);
    if (number === undefined) throw new Error(`${desc.typeName} has no ${name}`);
    return number;
  };
}

const unchanged = (value: unknown) => value;
