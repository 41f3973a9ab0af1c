/** The form of a command in the tables, and the forms that simple commands have in common. */
import type { DescMessage, DescMethodUnary, Message, MessageShape } from "@bufbuild/protobuf";
import { answersOf, send } from "./calls.ts";
import { type ColumnPaths, columnsOf, linesOf } from "./fields.ts";
import { type Input, inputOf } from "./inputs.ts";
import type { InputLine } from "./options.ts";
import type { Cell, Columns, Output } from "./output.ts";
import type { Session } from "./session.ts";

/** Commands and groups of commands by their names, in the order in which they are shown. */
export type Commands = Readonly<Record<string, Command | Group>>;

interface Explained {
  readonly summary: string;
  readonly description: string;
  readonly examples?: readonly string[] | undefined;
}

interface Group extends Explained {
  readonly commands: Commands;
}

/** The values of arguments and options by their names, such as `eventId` of `--event-id`. */
export type Values = Readonly<Record<string, unknown>>;

/** The help text of a command, its inputs, and what is wrong with them together. */
interface Stated extends Explained {
  readonly takes: readonly InputLine[];
  /** Returns a sentence if something is wrong. It is called before anything is sent. */
  readonly check?: ((values: Values) => string | false | undefined) | undefined;
  /** Whether the name of the command may be left out behind the name of its group. */
  readonly isDefault?: boolean | undefined;
}

export interface Command extends Stated {
  /** The message whose fields the inputs set. */
  readonly input: DescMessage;
  readonly inputs: readonly Input[];
  run(session: Session, request: Message, values: Values): Promise<void>;
}

/** A command that runs by a function of its own. */
export const runs = <I extends DescMessage>(
  input: I,
  stated: Stated & {
    run(session: Session, request: MessageShape<I>, values: Values): Promise<void>;
  },
): Command => ({
  ...stated,
  input,
  inputs: stated.takes.map((line) => inputOf(input, line)),
  run: stated.run as Command["run"],
});

/** A command that calls a method and prints a text about the answer. */
export const says = <I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  stated: Stated & {
    /** Sets fields of the request that are no inputs. Returns whether the method is called. */
    prepare?(
      session: Session,
      request: MessageShape<I>,
      values: Values,
    ): Promise<boolean> | boolean;
    text(answer: MessageShape<O>, request: MessageShape<I>, out: Output): string;
  },
): Command =>
  runs(method.input, {
    ...stated,
    async run(session, request, values) {
      if ((await stated.prepare?.(session, request, values)) === false) return;
      const answer = await send(session, method, request);
      const { out } = session;
      await out.message(method.output, answer, () => stated.text(answer, request, out));
    },
  });

/**
 * A command that lists the records of all pages in columns. If they are folded, the last ones go on
 * below where a terminal is too narrow.
 */
export function lists<T extends Message>(
  method: DescMethodUnary,
  {
    columns: paths,
    isFolded,
    note,
    ...stated
  }: Stated & {
    readonly columns: ColumnPaths<T>;
    readonly isFolded?: boolean | undefined;
    /** Returns a sentence if an answer says something else than its records. */
    readonly note?: ((answer: Message) => string | undefined) | undefined;
  },
): Command {
  const field = method.output.fields.find(({ fieldKind }) => fieldKind === "list");
  if (!field?.message) throw new Error(`${method.name} answers no list`);
  const { localName, message } = field;
  const columns = columnsOf(message, paths);
  return runs(method.input, {
    ...stated,
    async run(session, request) {
      async function* pages(): AsyncGenerator<T[]> {
        for await (const answer of answersOf(session, method, request)) {
          const text = note?.(answer);
          if (text !== undefined) await session.out.note(text);
          yield (answer as unknown as Record<string, T[]>)[localName] ?? [];
        }
      }
      await session.out.list(message, pages(), columns as Columns<Message>, { isFolded });
    },
  });
}

/** A command that shows the only record of an answer in lines: those of the paths, then others. */
export function shows<T extends Message>(
  method: DescMethodUnary,
  stated: Stated & {
    readonly lines: ColumnPaths<T>;
    readonly more?: ((record: T, answer: Message) => Cell[][]) | undefined;
  },
): Command {
  const [field] = method.output.fields;
  if (!field?.message) throw new Error(`${method.name} answers no record`);
  const columns = columnsOf(field.message, stated.lines);
  return says(method, {
    ...stated,
    text(answer, _, out) {
      const record = (answer as unknown as Record<string, T>)[field.localName];
      if (record === undefined) return "";
      return out.table([...linesOf(columns, record), ...(stated.more?.(record, answer) ?? [])]);
    },
  });
}
