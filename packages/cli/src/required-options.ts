/** Checks the required options of a command after its other options. */
import type { Command, Option } from "commander";

/**
 * Has required options checked when unknown ones are refused. Commander checks them before, so that
 * it reports a mistyped one as missing, without the suggestion that other unknown options get.
 */
export function checkRequiredLast(program: Command): void {
  const requiredOf = new Map<Command, readonly Option[]>();
  const visit = (command: Command) => {
    const required = command.options.filter(({ mandatory }) => mandatory);
    requiredOf.set(command, required);
    for (const option of required) option.mandatory = false;
    command.commands.forEach(visit);
  };
  visit(program);
  program.hook("preAction", (_, command) => {
    for (const option of requiredOf.get(command) ?? []) {
      if (command.getOptionValue(option.attributeName()) !== undefined) continue;
      command.error(`error: required option '${option.flags}' not specified`, {
        code: "commander.missingMandatoryOptionValue",
      });
    }
  });
}
