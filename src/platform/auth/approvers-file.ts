/** Parses the file that says which token subjects the names of people in Temporal are. */
import { z } from "zod";
import { comparableSubject } from "../words/caller.ts";
import { subjectPattern } from "./ids.ts";

const fileSchema = z.strictObject({
  approvers: z
    .array(z.strictObject({ name: z.string().min(1), subject: z.string().regex(subjectPattern) }))
    .refine((all) => new Set(all.map(({ name }) => comparableSubject(name))).size === all.length, {
      error: "has a name twice",
    }),
});

/** Finds the subject of a person by the name in Temporal; undefined for other names. */
type SubjectOf = (name: string) => string | undefined;

/** Case and blanks around a name do not matter. Throws an error that names what is wrong. */
export function parseApprovers(content: string): SubjectOf {
  const parsed = fileSchema.safeParse(JSON.parse(content));
  if (!parsed.success) throw new Error(`approvers: ${z.prettifyError(parsed.error)}`);
  const subjects = new Map(
    parsed.data.approvers.map(({ name, subject }) => [comparableSubject(name), subject]),
  );
  return (name) => subjects.get(comparableSubject(name));
}
