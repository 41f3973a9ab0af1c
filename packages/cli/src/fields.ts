/** Reads and sets fields of messages by paths such as `event.eventId`, by their descriptors. */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { type Duration, durationMs } from "@bufbuild/protobuf/wkt";
import { type Cell, type Columns, callerText, enumName } from "./output.ts";

/**
 * The columns of a table in their order: names and paths such as `user: userId, state`, where a
 * path alone is the name, too; and functions where a field alone does not say it.
 */
export type ColumnPaths<T> = readonly (string | Readonly<Record<string, (record: T) => Cell>>)[];

/** A message whose fields are read and set by their names. */
type Fields = Record<string, unknown>;

/** The field at a path. Throws an Error for a path that the message does not have. */
export function fieldAt(schema: DescMessage, path: string): DescField {
  const [name = "", ...rest] = path.split(".");
  const field = schema.field[name];
  if (field === undefined) throw new Error(`${schema.typeName} has no field ${name}`);
  return rest.length === 0 ? field : fieldAt(messageAt(field), rest.join("."));
}

function messageAt({ message, name }: DescField): DescMessage {
  if (message === undefined) throw new Error(`${name} is not a message`);
  return message;
}

/** Sets the field at a path, in the form in which a message is made of its fields. */
export function setField(fields: Fields, schema: DescMessage, path: string, value: unknown): void {
  const [name = "", ...rest] = path.split(".");
  const field = fieldAt(schema, name);
  if (rest.length > 0) {
    const inner = { ...(fieldIn(fields, field) as Fields | undefined) };
    setField(inner, messageAt(field), rest.join("."), value);
    setField(fields, schema, name, inner);
  } else if (field.oneof) {
    fields[field.oneof.localName] = { case: name, value };
  } else {
    fields[name] = value;
  }
}

function fieldIn(fields: Fields, { oneof, localName }: DescField): unknown {
  if (!oneof) return fields[localName];
  const chosen = fields[oneof.localName] as { case?: string; value?: unknown } | undefined;
  return chosen?.case === localName ? chosen.value : undefined;
}

/** The columns that are at these paths, each in the form of its type. */
export function columnsOf<T>(schema: DescMessage, paths: ColumnPaths<T>): Columns<T> {
  const columns = paths.flatMap((part) => {
    if (typeof part !== "string") return Object.entries(part);
    return part.split(", ").map((text): [string, (record: T) => Cell] => {
      const [name = "", path = name] = text.split(": ");
      return [name, cellAt(schema, path)];
    });
  });
  return Object.fromEntries(columns);
}

/** Lines with the name and the value of each column. */
export const linesOf = <T>(columns: Columns<T>, record: T): [name: string, value: Cell][] =>
  Object.entries(columns).map(([name, cellOf]) => [name, cellOf(record)]);

/** How a record has the value at a path; the values of a list are joined. */
function cellAt(schema: DescMessage, path: string): (record: unknown) => Cell {
  const [name = "", ...rest] = path.split(".");
  const field = fieldAt(schema, name);
  const cellOf =
    rest.length > 0
      ? cellAt(messageAt(field), rest.join("."))
      : (value: unknown) => cell(field, value);
  return (record) => {
    const value = fieldIn(record as Fields, field);
    if (Array.isArray(value)) return value.map(cellOf).join(", ");
    return value === undefined ? undefined : cellOf(value);
  };
}

function cell(field: DescField, value: unknown): Cell {
  if (field.enum) return enumName(field.enum, value as number);
  switch (field.message?.typeName) {
    case "meguri.access.v1.Caller":
      return callerText(value as Parameters<typeof callerText>[0]);
    case "meguri.reactions.v1.TargetName":
      return targetText(value as Parameters<typeof targetText>[0]);
    case "google.protobuf.Duration":
      return durationMs(value as Duration);
    default:
      return value as Cell;
  }
}

/** The name of a target as it is typed. */
export const targetText = ({ type, id }: { readonly type: string; readonly id: string }): string =>
  `${type}/${id}`;
