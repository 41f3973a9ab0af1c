/** Writes which fields of requests are required, by the protos' rules, as a type of the client. */
import { create, type DescFile, type DescMessage } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { requestValidator } from "../../src/platform/edge/validator.ts";

/**
 * The names in TypeScript of the fields and oneofs that a message is refused without: those of
 * which an empty message breaks a rule. A rule of the whole message, which compares fields, does
 * not count.
 */
export function requiredFields(message: DescMessage): string[] {
  const { error, violations = [] } = requestValidator.validate(message, create(message));
  if (error && violations.length === 0) throw error;
  const names = violations.flatMap(({ field: [first] }) =>
    first?.kind === "field" || first?.kind === "oneof" ? [first.localName] : [],
  );
  return [...new Set(names)];
}

/** The source file with the required fields of every message that has any. */
export function requiredFieldsSource(files: readonly DescFile[]): string {
  const types = files.flatMap((file) => [...nestedTypes(file)]);
  const messages = types.filter((type) => type.kind === "message");
  const lines = messages
    .toSorted((a, b) => (a.typeName < b.typeName ? -1 : 1))
    .map((message) => [message.typeName, requiredFields(message)] as const)
    .filter(([, names]) => names.length > 0)
    .map(([typeName, names]) => lineOf(typeName, names));
  return `/** The fields that requests must have. Generated from proto/ by \`npm run generate\`. */

/** By the name of a message: the fields and oneofs without which the server refuses it. */
export interface RequiredFields {
${lines.join("\n")}
}
`;
}

/** A property as the formatter writes it. */
function lineOf(typeName: string, names: readonly string[]): string {
  const texts = names.map((name) => `"${name}"`);
  const line = `  readonly "${typeName}": ${texts.join(" | ")};`;
  if (line.length <= 100) return line;
  return `  readonly "${typeName}":\n${texts.map((text) => `    | ${text}`).join("\n")};`;
}
