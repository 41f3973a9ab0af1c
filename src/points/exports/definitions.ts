/** Reads where exports may be written, from the JSON file of MEGURI_EXPORT_DESTINATIONS. */
import { readFileSync } from "node:fs";
import { isAbsolute } from "node:path";
import { z } from "zod";

const name = z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, "1 to 32 of a-z, 0-9 and -");

/** The programs whose ledgers may be written there. */
const programs = z.array(name).min(1);

const folder = z.strictObject({
  ...{ name, programs, type: z.literal("folder") },
  path: z.string().refine(isAbsolute, "has to be absolute"),
});

const s3 = z.strictObject({
  ...{ name, programs, type: z.literal("s3") },
  bucket: z.string().min(1),
  prefix: z.string().regex(/^$|^[^/].*\/$/, "empty, or ends with / and does not start with /"),
  region: z.string().min(1),
  /** Another S3 than AWS's. */
  endpoint: z.url({ protocol: /^https?$/ }).optional(),
  /** For servers that have the bucket in the path instead of the host name. */
  force_path_style: z.boolean().optional(),
});

const file = z.strictObject({
  destinations: z.array(z.discriminatedUnion("type", [folder, s3])).superRefine((all, context) => {
    const names = all.map((each) => each.name);
    for (const [index, each] of names.entries()) {
      if (names.indexOf(each) === index) continue;
      const message = `another destination is named ${each}`;
      context.addIssue({ code: "custom", message, path: [index, "name"] });
    }
  }),
});

/** One configured destination. */
export type DestinationDefinition = z.output<typeof file>["destinations"][number];

/** The fields of the destinations of one type. */
export type DefinitionOf<T extends DestinationDefinition["type"]> = Extract<
  DestinationDefinition,
  { readonly type: T }
>;

/**
 * Returns the configured destinations; none without a path. Throws an error that names the file and
 * every field with an invalid value.
 */
export function readDestinations(path: string | undefined): readonly DestinationDefinition[] {
  if (path === undefined) return [];
  const parsed = file.safeParse(readJson(path));
  if (!parsed.success) throw new Error(`${path}: ${z.prettifyError(parsed.error)}`);
  return parsed.data.destinations;
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}`, { cause: error });
  }
}
