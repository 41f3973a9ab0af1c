/** The operators' form of sources and destinations, and how the JSON file of one is read. */
import { readFileSync } from "node:fs";
import { isAbsolute } from "node:path";
import { z } from "zod";

/** The name of a definition. */
export const definitionName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, "1 to 32 of a-z, 0-9 and -");

/** The id of a program, as definitions name it. */
export const programId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, "not a program_id");

/** The fields of every definition. */
export const named = {
  /** By which requests name it. */
  name: definitionName,
  /** The programs that may use it. */
  programs: z.array(programId).min(1),
};

/** A local folder. */
export const folder = z.strictObject({
  ...named,
  type: z.literal("folder"),
  path: z.string().refine(isAbsolute, "has to be absolute"),
});

/** A prefix of an S3 bucket. */
export const s3 = z.strictObject({
  ...named,
  type: z.literal("s3"),
  bucket: z.string().min(1),
  /** Names a folder, because other folders are made below it. */
  prefix: z.string().regex(/^$|^[^/].*\/$/, "empty, or ends with / and does not start with /"),
  region: z.string().min(1),
  /** Another S3 than AWS's. */
  endpoint: z.url({ protocol: /^https?$/ }).optional(),
  /** For servers that have the bucket in the path instead of the host name. */
  force_path_style: z.boolean().optional(),
});

/** The fields of an object store of one type. */
export type LocationOf<T extends "folder" | "s3"> = Extract<
  z.output<typeof folder> | z.output<typeof s3>,
  { readonly type: T }
>;

/** The lists that a file may have. One file can have all of them. */
type ListName = "sources" | "destinations" | "subscriptions";

/**
 * Returns a list of a file of definitions; an empty one without a path. Throws an error that names
 * the file and every field with an invalid value.
 */
export function readDefinitions<T extends { readonly name: string }>(
  path: string | undefined,
  list: ListName,
  definition: z.ZodType<T>,
): readonly T[] {
  if (path === undefined) return [];
  const unread = z.unknown().optional();
  const read = z.array(definition).superRefine(namedApart);
  const lists = { sources: unread, destinations: unread, subscriptions: unread };
  const file = z.strictObject({ ...lists, [list]: read });
  const parsed = file.safeParse(readJson(path));
  if (!parsed.success) throw new Error(`${path}: ${z.prettifyError(parsed.error)}`);
  return parsed.data[list] as readonly T[];

  function namedApart(all: readonly T[], context: z.RefinementCtx): void {
    const names = all.map(({ name }) => name);
    for (const [index, name] of names.entries()) {
      if (names.indexOf(name) === index) continue;
      const message = `another ${list.slice(0, -1)} is named ${name}`;
      context.addIssue({ code: "custom", message, path: [index, "name"] });
    }
  }
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}`, { cause: error });
  }
}
