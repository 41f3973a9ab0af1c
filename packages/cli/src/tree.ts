/** Makes commander's tree of the tables, and requests of what is typed. */
import { randomUUID } from "node:crypto";
import { create, type Message } from "@bufbuild/protobuf";
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { Argument, type Command as CommanderCommand, Option } from "commander";
import type { Command, Commands, Values } from "./command.ts";
import { UsageError } from "./errors.ts";
import { setField } from "./fields.ts";
import type { Input } from "./inputs.ts";
import { write } from "./io.ts";
import type { Session } from "./session.ts";

/** Makes an action that runs a command in a session. */
export type Runner = (
  command: Command,
  action: (session: Session) => Promise<void>,
) => () => Promise<void>;

/** Adds the commands of a table to a command or group of commander. */
export function addCommands(parent: CommanderCommand, table: Commands, inSession: Runner): void {
  for (const [name, entry] of Object.entries(table)) {
    const isDefault = "isDefault" in entry && entry.isDefault === true;
    const added = parent.command(name, { isDefault });
    added.summary(entry.summary).description(entry.description);
    if (entry.examples) added.addHelpText("after", examples(entry.examples));
    if ("commands" in entry) addCommands(added, entry.commands, inSession);
    else addAction(added, entry, inSession);
  }
}

/** Examples below the help text of a command. */
const examples = (lines: readonly string[]): string =>
  ["", lines.length > 1 ? "Examples:" : "Example:", ...lines.map((line) => `  ${line}`)].join("\n");

function addAction(added: CommanderCommand, command: Command, inSession: Runner): void {
  for (const input of command.inputs) {
    const typed = typedAs(input);
    if (typed instanceof Option) added.addOption(typed);
    else added.addArgument(typed);
  }
  const args = command.inputs.filter(({ flags }) => !flags.startsWith("-"));
  added.action(async () => {
    const typed = args.map(({ key }, i) => [key, added.processedArgs[i]]);
    const values: Values = { ...added.opts(), ...Object.fromEntries(typed) };
    checkValues(command, values);
    await inSession(command, async (session) =>
      command.run(session, await requestOf(session, command, values), values),
    )();
  });
}

/** The argument or the option of commander that an input is. */
function typedAs({ flags, help, words, read, conflicts, ...input }: Input): Argument | Option {
  const typed = flags.startsWith("-") ? new Option(flags, help) : new Argument(flags, help);
  if (words) typed.choices(Object.keys(words));
  else if (read) typed.argParser(read);
  if (input.default !== undefined) typed.default(input.default);
  if (conflicts !== undefined && typed instanceof Option) typed.conflicts(conflicts);
  return typed;
}

/**
 * Throws UsageError for values that do not go together. Commander would check required options
 * before it refuses unknown ones, and so report a mistyped one as missing.
 */
function checkValues({ inputs, check }: Command, values: Values): void {
  const missing = inputs.find(({ isRequired, key }) => isRequired && values[key] === undefined);
  if (missing) throw new UsageError(`required option '${missing.flags}' not specified`);
  const problem = check?.(values);
  if (problem) throw new UsageError(problem);
}

/** Makes the request. Ids that nobody has given are made and printed before anything is sent. */
async function requestOf(
  session: Session,
  { input: schema, inputs }: Command,
  values: Values,
): Promise<Message> {
  const fields = {};
  const ids: string[] = [];
  const times: string[] = [];
  let isSameAgain = true;
  for (const { path, name, key, words, on, orRandom, isRepeated } of inputs) {
    const typed = values[key];
    if (path === undefined || (typed === undefined && !orRandom)) continue;
    const value = typed ?? (await makeId(session, path, name));
    if (orRandom) ids.push(`--${name} ${value}`);
    if (isRepeated) times.push(`--${name} ${timestampDate(value as Timestamp).toISOString()}`);
    if (isRepeated || typed === undefined) isSameAgain = false;
    setField(fields, schema, path, on ?? (words ? ofWords(words, value) : value));
  }
  // "+2h" would be another time in the next try, and so another request.
  if (!isSameAgain) session.repeatWith = [...ids, ...times].join(" ");
  return create(schema, fields);
}

async function makeId({ io, out }: Session, field: string, name: string): Promise<string> {
  const id = randomUUID();
  await write(io.stderr, `${out.isJson ? JSON.stringify({ [field]: id }) : `${name} ${id}`}\n`);
  return id;
}

/** The value of an enum that a word stands for, or the values of all words of a list. */
const ofWords = (words: Readonly<Record<string, number>>, value: unknown): unknown =>
  Array.isArray(value) ? value.map((word) => words[word]) : words[value as string];
