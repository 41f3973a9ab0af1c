/** Shell completion: the scripts of the shells, and the candidates for a command line. */
import type { Command, Option } from "commander";
import { type Io, write } from "./io.ts";

/** A candidate for the word under the cursor. */
interface Candidate {
  readonly name: string;
  readonly description: string;
}

/** The possible next words: candidates, or the name of a file. */
type Completion = readonly Candidate[] | "file";

/** Adds the command that prints a script, and the hidden one that the scripts call. */
export function addCompletion(program: Command, io: Io): void {
  program
    .command("completion")
    .summary("print a script that completes commands with Tab")
    .description("Prints a script with which the shell completes commands and options by Tab.")
    .addArgument(program.createArgument("<shell>", "your shell").choices(["bash", "zsh", "fish"]))
    .addHelpText(
      "after",
      '\nExamples:\n  eval "$(meguri completion bash)"\n  meguri completion fish | source',
    )
    .action(async (shell: "bash" | "zsh" | "fish") => {
      const { getCompletionScript } = await tabtab();
      const options = { name: program.name(), completer: program.name(), shell };
      await write(io.stdout, await getCompletionScript(options));
    });
  // The scripts pass the words, but the line is the same in all shells.
  program
    .command("completion-server", { hidden: true })
    .argument("[words...]")
    .action(async () => {
      const { parseEnv, log, logFiles, getShellFromEnv } = await tabtab();
      const shell = getShellFromEnv(io.env);
      const words = parseEnv(io.env).partial.split(/\s+/).slice(1);
      const found = complete(program, words);
      if (found !== "file") log([...found], shell, (line) => io.stdout.write(`${line}\n`));
      // Bash completes files where there is no candidate.
      else if (shell !== "bash") logFiles();
    });
}

/** Loaded when it is needed, because no other command does. */
const tabtab = async () => (await import("@pnpm/tabtab")).default;

/** The candidates for the last of the words; the words before it are complete. */
function complete(program: Command, words: readonly string[]): Completion {
  const current = words.at(-1) ?? "";
  let command = program;
  let position = 0;
  let option: Option | undefined;
  for (const word of words.slice(0, -1)) {
    if (option !== undefined) {
      option = undefined;
    } else if (word.startsWith("-")) {
      option = optionsOf(command).find(({ long, short }) => word === long || word === short);
      if (!option?.required) option = undefined;
    } else {
      const child = command.commands.find((each) => each.name() === word);
      if (child === undefined) position += 1;
      command = child ?? defaultOf(command) ?? command;
    }
  }
  if (option !== undefined) return choices(option.argChoices);
  if (current.startsWith("-")) return optionsOf(command).map(optionCandidate);
  if (command.commands.length > 0) {
    return command.createHelp().visibleCommands(command).map(commandCandidate);
  }
  const argument = command.registeredArguments[position];
  if (argument?.name() === "file") return "file";
  return choices(argument?.argChoices);
}

/** The command of a group that may be left out. Commander has no public name for it. */
const defaultOf = (group: Command): Command | undefined => {
  const { _defaultCommandName: name } = group as { _defaultCommandName?: string };
  return group.commands.find((each) => each.name() === name);
};

/** The options of a command and of those above it. */
const optionsOf = (command: Command): Option[] => [
  ...command.options,
  ...(command.parent ? optionsOf(command.parent) : []),
];

const choices = (names: readonly string[] = []): Candidate[] =>
  names.map((name) => ({ name, description: "" }));

const optionCandidate = ({ long, description }: Option): Candidate => ({
  name: long ?? "",
  description,
});

const commandCandidate = (command: Command): Candidate => ({
  name: command.name(),
  description: command.summary(),
});
