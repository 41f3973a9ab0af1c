/** Clears the texts of people in events, which their fields are marked by in the contract. */
import { type DescField, type DescMessage, getOption, type Message } from "@bufbuild/protobuf";
import { Personal, personal } from "../../gen/meguri/access/v1/access_pb.ts";
import { type Event, EventSchema } from "../../gen/meguri/events/v1/event_pb.ts";

/**
 * The event without the texts of people, but for those of the kinds that `include` has. Shares the
 * messages that have none of them with the event itself.
 */
export const withoutPersonal = (event: Event, include: readonly Personal[]): Event =>
  cleared(EventSchema, event, include) as Event;

/** The kind of text that a field has. */
export const personalOf = (field: DescField): Personal => getOption(field, personal);

type Fields = Record<string, unknown>;

/** A message without the texts. Reflection over its values would take thirty times as long. */
function cleared(desc: DescMessage, message: Message, include: readonly Personal[]): Message {
  const marked = markedOf(desc);
  if (marked.length === 0) return message;
  const copy = { ...message } as Message & Fields;
  for (const { kind, localName, oneof, inner } of marked) {
    if (!inner) {
      if (!include.includes(kind)) copy[localName] = "";
    } else if (oneof) {
      const { case: name, value } = copy[oneof.localName] as { case?: string; value?: Message };
      if (name === localName && value)
        copy[oneof.localName] = { case: name, value: cleared(inner, value, include) };
    } else {
      const value = copy[localName] as Message | undefined;
      copy[localName] = value && cleared(inner, value, include);
    }
  }
  return copy;
}

/** A field that has a text of people, or a message with some. */
interface Marked extends Pick<DescField, "localName" | "oneof"> {
  readonly kind: Personal;
  readonly inner: DescMessage | undefined;
}

const allMarked = new Map<string, readonly Marked[]>();

/**
 * The fields of a message that have such texts, or messages with them. Throws for a list and a map
 * of them, which no event has.
 */
function markedOf(desc: DescMessage): readonly Marked[] {
  const known = allMarked.get(desc.typeName);
  if (known) return known;
  // None while it is looked for, so that a message in itself ends.
  allMarked.set(desc.typeName, []);
  const found = desc.fields.filter(
    (field) =>
      personalOf(field) !== Personal.UNSPECIFIED ||
      (field.message !== undefined && markedOf(field.message).length > 0),
  );
  const many = found.find(({ fieldKind }) => fieldKind === "list" || fieldKind === "map");
  if (many) throw new Error(`${many} has several texts of people, which are not cleared`);
  const fields = found.map((field) => ({
    kind: personalOf(field),
    ...{ localName: field.localName, oneof: field.oneof, inner: field.message },
  }));
  allMarked.set(desc.typeName, fields);
  return fields;
}
