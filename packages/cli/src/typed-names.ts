/** Names the fields of requests as the person has typed them: by options and arguments. */
import type { FieldViolation } from "@meguri/client";
import type { Input } from "./inputs.ts";

/** The violation of a field, by the names of the inputs that have set it. */
export function inTypedNames(
  { field, description }: FieldViolation,
  inputs: readonly Input[],
): FieldViolation {
  // The path of an item says which one it is, and most lists come from files.
  if (field.includes("[")) return { field, description };
  return {
    field: typedName(inputs, field) ?? field,
    description: description.replaceAll(
      /\b[a-z]+(_[a-z]+)+\b/g,
      (other) => typedName(inputs, other) ?? other,
    ),
  };
}

/** The option or the argument that becomes the field; undefined if there is none. */
function typedName(inputs: readonly Input[], field: string): string | undefined {
  const path = field
    .replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
    .replace(/targetName\.\w+$/, "targetName");
  const found =
    inputs.find((input) => input.path === path) ??
    inputs.find((input) => input.path !== undefined && lastOf(input.path) === lastOf(path));
  return found && (found.flags.startsWith("-") ? `--${found.name}` : `<${found.name}>`);
}

const lastOf = (path: string): string => path.slice(path.lastIndexOf(".") + 1);
