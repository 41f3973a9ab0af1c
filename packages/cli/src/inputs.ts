/** Arguments and options of commands, by the lines that the tables have of them. */
import type { DescMessage } from "@bufbuild/protobuf";
import { fieldAt } from "./fields.ts";
import { enumWords, type InputDetails, type InputLine, readerOf } from "./options.ts";

export interface Input extends InputDetails {
  /** As commander has them, such as `--event-id <id>`. */
  readonly flags: string;
  readonly help: string;
  /** The name as it is typed, such as `event-id`. */
  readonly name: string;
  /** The name of its value, such as `eventId`. */
  readonly key: string;
  /** The field of the request that it sets, if it sets one. */
  readonly path?: string | undefined;
}

/** Reads a line of a table. Throws an Error for a field that the message does not have. */
export function inputOf(schema: DescMessage, given: InputLine): Input {
  const [text, details = {}] = typeof given === "string" ? [given] : given;
  const [, flags = "", path, help = ""] = /^(.+?)(?: = ([\w.]+))?: (.+)$/.exec(text) ?? [];
  const [, name] = /(?:--|^[<[])([\w-]+)/.exec(flags) ?? [];
  if (name === undefined) throw new Error(`no argument or option: ${text}`);
  const key = name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  const field = path === undefined ? undefined : fieldAt(schema, path);
  const words = field?.enum && details.on === undefined ? enumWords(field.enum) : undefined;
  return { words, read: field && readerOf(field), ...details, flags, help, name, key, path };
}
