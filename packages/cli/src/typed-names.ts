/** Names the fields of requests as the person has typed them: by options and arguments. */
import type { FieldViolation } from "@meguri/client";
import type { Command } from "commander";

/** The names that commands give to fields beside the field's own name. */
const typedAs: Readonly<Record<string, readonly string[]>> = {
  bulk_grant_id: ["id"],
  create_time_before: ["until"],
  create_time_from: ["since"],
  destination: ["to"],
  display_name: ["name"],
  execute_time: ["at", "time"],
  execute_time_before: ["until"],
  execute_time_from: ["since"],
  expire_after_months: ["expire-after"],
  expire_month: ["month"],
  export_id: ["id"],
  hold_id: ["hold"],
  owner_id: ["owner"],
  owner_ids: ["owner"],
  program_id: ["program", "id"],
  report_id: ["id"],
  reversed_bulk_grant_id: ["reversed-id"],
  "target_name.id": ["target"],
  "target_name.type": ["target"],
  user_id: ["user"],
};

/** What is wrong with a field, by the names of the command that has sent it. */
export function inTypedNames(
  { field, description }: FieldViolation,
  command: Command | undefined,
): FieldViolation {
  // The path of an item says which one it is, and most lists come from files.
  if (command === undefined || field.includes("[")) return { field, description };
  return {
    field: typedName(command, field) ?? field,
    description: description.replaceAll(
      /\b[a-z]+(_[a-z]+)+\b/g,
      (other) => typedName(command, other) ?? other,
    ),
  };
}

/** The option or the argument of a command that becomes the field; undefined if it has none. */
function typedName(command: Command, field: string): string | undefined {
  const last = field.slice(field.lastIndexOf(".") + 1);
  const names = [last.replaceAll("_", "-"), ...(typedAs[field] ?? typedAs[last] ?? [])];
  for (const name of names) {
    if (command.options.some(({ long }) => long === `--${name}`)) return `--${name}`;
    if (command.registeredArguments.some((each) => each.name() === name)) return `<${name}>`;
  }
  return undefined;
}
