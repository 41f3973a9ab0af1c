/** Prints results: for people on a terminal, as stable lines in a pipe, or as JSON. */
import { styleText } from "node:util";
import {
  type DescEnum,
  type DescMessage,
  type MessageShape,
  toJsonString,
} from "@bufbuild/protobuf";
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import stringWidth from "string-width";
import { Temporal } from "temporal-polyfill";
import { type Io, type OutputStream, write } from "./io.ts";

/** A value of a table. */
export type Cell = string | bigint | number | boolean | Timestamp | undefined;

/** The columns of a table: their names, and how a record has their values. */
export type Columns<T> = Readonly<Record<string, (record: T) => Cell>>;

type Style = Parameters<typeof styleText>[0];

interface TableForm {
  /** Whether the last columns go on below where a terminal is too narrow for all of them. */
  readonly isFolded?: boolean | undefined;
}

export interface Output {
  readonly isJson: boolean;
  /** Whether people read standard output: it is a terminal and `--json` is not set. */
  readonly isTerminal: boolean;
  /** Prints a message: as one line of JSON, or as what `text` returns. */
  message<S extends DescMessage>(
    schema: S,
    message: MessageShape<S> | undefined,
    text: (message: MessageShape<S>) => string,
  ): Promise<void>;
  /**
   * Prints a list as its pages arrive: one line of JSON for each record, aligned columns under
   * their names on a terminal, and otherwise lines with tabs and without names.
   */
  list<S extends DescMessage>(
    schema: S,
    pages: AsyncIterable<readonly MessageShape<S>[]>,
    columns: Columns<MessageShape<S>>,
    form?: TableForm,
  ): Promise<void>;
  /** Prints a result that is no message of the API: as one line of JSON, or as text. */
  value(value: object, text: string): Promise<void>;
  /** Prints a line for people on standard error; nothing with `--json`. */
  note(text: string): Promise<void>;
  /** Formats lines of cells as a table, as `list` does. */
  table(lines: readonly (readonly Cell[])[], names?: readonly string[], form?: TableForm): string;
  /** Colours text on a terminal, unless NO_COLOR is set. */
  style(style: Style, text: string): string;
}

export function createOutput({ stdout, stderr, env }: Io, isJson: boolean): Output {
  const isTerminal = stdout.isTTY === true && !isJson;
  const style = (name: Style, text: string) => (isJson ? text : styled(stdout, env, name, text));
  const print = (text: string) => write(stdout, text);

  function table(
    lines: readonly (readonly Cell[])[],
    names: readonly string[] = [],
    { isFolded }: TableForm = {},
    widths: number[] = [],
  ): string {
    const texts = lines.map((cells) => cells.map(cellText));
    if (!isTerminal) return texts.map((cells) => `${cells.join("\t")}\n`).join("");
    if (lines.length === 0) return "";
    const hasNames = names.length > 0;
    const all = hasNames ? [names, ...texts] : texts;
    const [first = "", ...others] = align(all, widths, isFolded ? stdout.columns : undefined);
    return [hasNames ? style("bold", first) : first, ...others, ""].join("\n");
  }

  return {
    isJson,
    isTerminal,
    style,
    table,

    async message(schema, message, text) {
      if (message === undefined) return;
      await print(isJson ? jsonLine(schema, message) : text(message));
    },

    async list(schema, pages, columns, form) {
      let names: readonly string[] = Object.keys(columns);
      const widths: number[] = [];
      for await (const records of pages) {
        if (isJson) {
          await print(records.map((record) => jsonLine(schema, record)).join(""));
        } else if (records.length > 0) {
          const cells = Object.values(columns);
          const lines = records.map((record) => cells.map((cellOf) => cellOf(record)));
          await print(table(lines, names, form, widths));
          names = [];
        }
      }
    },

    async value(value, text) {
      await print(isJson ? `${JSON.stringify(value)}\n` : text);
    },

    async note(text) {
      if (!isJson) await write(stderr, `${printable(text)}\n`);
    },
  };
}

/** Colours text for a stream that is a terminal, unless NO_COLOR is set. */
export const styled = (
  { isTTY }: OutputStream,
  { NO_COLOR }: Io["env"],
  style: Style,
  text: string,
): string => (isTTY && !NO_COLOR ? styleText(style, text, { validateStream: false }) : text);

/** One line of JSON as the API writes it, with the fields that have their default value. */
const jsonLine = <S extends DescMessage>(schema: S, message: MessageShape<S>): string =>
  `${toJsonString(schema, message, { alwaysEmitImplicit: true })}\n`;

/** The text of a value; `-` for a value that is empty or unset. */
export function cellText(cell: Cell): string {
  if (typeof cell === "object") return formatTime(cell);
  return printable(String(cell ?? "")) || "-";
}

/** An instant as ISO 8601 in the zone of this machine, in seconds. */
export function formatTime(time: Timestamp | undefined): string {
  if (time === undefined) return "-";
  const instant = Temporal.Instant.fromEpochMilliseconds(timestampMs(time));
  return instant
    .toZonedDateTimeISO(Temporal.Now.timeZoneId())
    .toString({ smallestUnit: "second", timeZoneName: "never" });
}

/**
 * Replaces control characters and bidirectional controls: texts of other people could move the
 * cursor of a terminal or break a line in two.
 */
export const printable = (text: string): string =>
  text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]/gu, "\u{FFFD}");

/**
 * Pads all columns but the last, by the widths that a terminal shows. `widths` has those of the
 * lines before, and gets wider ones of these lines.
 */
function align(
  lines: readonly (readonly string[])[],
  widths: number[],
  columns = Number.POSITIVE_INFINITY,
): string[] {
  for (const texts of lines) {
    for (const [i, text] of texts.entries()) {
      widths[i] = Math.max(widths[i] ?? 0, stringWidth(text));
    }
  }
  const folds = foldsOf(widths, columns);
  return lines.map((texts) =>
    texts
      .map((text, i) => {
        const padded = text + " ".repeat((widths[i] ?? 0) - stringWidth(text));
        return folds.has(i) ? `\n  ${padded}` : `${i > 0 ? "  " : ""}${padded}`;
      })
      .join("")
      .replace(/ +$/gm, ""),
  );
}

/** The last column may be cut off by the end of the line, unless less than this is seen of it. */
const minLastWidth = 30;

/** The columns that begin a line of their own, because those before them fill the one above. */
function foldsOf(widths: readonly number[], columns: number): ReadonlySet<number> {
  const folds = new Set<number>();
  let end = 0;
  for (const [i, width] of widths.entries()) {
    const needed = i === widths.length - 1 ? Math.min(width, minLastWidth) : width;
    if (i > 0 && end + 2 + needed > columns) {
      folds.add(i);
      end = 0;
    }
    end += (i > 0 ? 2 : 0) + width;
  }
  return folds;
}

/** The line about a change that was made now or before, or only validated. */
export function outcomeText(
  { validateOnly }: { readonly validateOnly: boolean },
  { replayed = false }: { readonly replayed?: boolean | undefined },
  text: string,
): string {
  if (replayed) return line(`${text}; replayed: an earlier call had done it`);
  return line(validateOnly ? `dry run, nothing is changed: ${text}` : text);
}

/** A line of a text in which others may have written. */
export const line = (text: string): string => `${printable(text)}\n`;

/** The name of a value; a value that is newer than this command is printed as its number. */
export const enumName = (schema: DescEnum, value: number): string =>
  schema.value[value]?.localName ?? String(value);

/** The service, or the subject and the service through which it called. */
export const callerText = ({
  service,
  subject,
}: {
  readonly service: string;
  readonly subject: string;
}): string => (subject === service ? service : `${subject} via ${service}`);

/** The word for so many things. */
export const nounFor = (count: number | bigint, thing: string, things = `${thing}s`): string =>
  BigInt(count) === 1n ? thing : things;

export const quantity = (count: number | bigint, thing: string, things?: string): string =>
  `${count} ${nounFor(count, thing, things)}`;
