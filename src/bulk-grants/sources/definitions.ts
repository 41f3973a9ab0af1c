/** Reads which sources of rows are configured, from the JSON file of MEGURI_BULK_SOURCES. */
import { readFileSync } from "node:fs";
import { isAbsolute } from "node:path";
import { z } from "zod";
import { timeZoneOf } from "../../platform/words/time-zone.ts";

const programId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, "not a program_id");

const named = {
  /** The first part of a source string, and of the pick-up's schedule id. */
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, "1 to 32 of a-z, 0-9 and -"),
  /** Who submits what comes from the source. It is a caller, so it never approves that. */
  identity: z.string().regex(/^[!-"$-~]{1,64}$/, "1 to 64 visible ASCII characters without #"),
  /** The programs in which its sheets may grant. */
  programs: z.array(programId).min(1),
};

/** When new files are picked up, and for which program. */
const pickUp = z.strictObject({
  program_id: programId,
  cron: z.string().regex(/^\S+( \S+){4}$/, "5 fields, as in 0 6 * * *"),
  time_zone: z.string().refine((name) => timeZoneOf(name) === name, "not in the IANA database"),
  /** What names a bulk grant: the file's name, or with "content" also its content. */
  ids: z.enum(["name", "content"]).optional(),
});

const folder = z.strictObject({
  ...named,
  type: z.literal("folder"),
  path: z.string().refine(isAbsolute, "has to be absolute"),
  pick_up: pickUp.optional(),
});

const s3 = z.strictObject({
  ...named,
  type: z.literal("s3"),
  bucket: z.string().min(1),
  /** Names a folder, because the files moved to `done/` are below it. */
  prefix: z.string().regex(/^$|^[^/].*\/$/, "empty, or ends with / and does not start with /"),
  region: z.string().min(1),
  /** Another S3 than AWS's. */
  endpoint: z.url({ protocol: /^https?$/ }).optional(),
  /** For servers that have the bucket in the path instead of the host name. */
  force_path_style: z.boolean().optional(),
  pick_up: pickUp.optional(),
});

const google = {
  /** The path of a service account's key file in JSON, as the Google Cloud console makes it. */
  key_file: z.string().min(1),
  /** Another address than Google's, such as that of a private gateway. */
  endpoint: z.url({ protocol: /^https?$/ }).optional(),
};

/** An id as it stands in the address of a file, a folder or a spreadsheet. */
const googleId = z.string().regex(/^[\w-]{1,128}$/);

/** A folder of Google Drive that is shared with the service account as an editor. */
const drive = z.strictObject({
  ...named,
  ...google,
  type: z.literal("drive"),
  folder_id: googleId,
  /** A spreadsheet that was changed less than this many minutes ago is left to the next pick-up. */
  quiet_minutes: z.int().min(1).max(1_440).optional(),
  pick_up: pickUp.optional(),
});

/**
 * A spreadsheet of Google Sheets that is shared with the service account as an editor. It has no
 * new files, because its tabs are not moved.
 */
const sheet = z.strictObject({
  ...named,
  ...google,
  type: z.literal("sheet"),
  spreadsheet_id: googleId,
  pick_up: z.never().optional(),
});

const file = z.strictObject({
  sources: z
    .array(z.discriminatedUnion("type", [folder, s3, drive, sheet]))
    .superRefine((sources, context) => {
      const names = sources.map(({ name }) => name);
      for (const [index, name] of names.entries()) {
        if (names.indexOf(name) === index) continue;
        const message = `another source is named ${name}`;
        context.addIssue({ code: "custom", message, path: [index, "name"] });
      }
      for (const [index, { name, programs, pick_up }] of sources.entries()) {
        if (!pick_up || programs.includes(pick_up.program_id)) continue;
        const message = `${pick_up.program_id} is none of the programs of ${name}`;
        context.addIssue({ code: "custom", message, path: [index, "pick_up", "program_id"] });
      }
    }),
});

/** One configured source. */
export type SourceDefinition = z.output<typeof file>["sources"][number];

/** The fields of the sources of one type. */
export type DefinitionOf<T extends SourceDefinition["type"]> = Extract<
  SourceDefinition,
  { readonly type: T }
>;

/**
 * Returns the configured sources; none without a path. Throws an error that names the file and
 * every field with an invalid value.
 */
export function readSourceDefinitions(path: string | undefined): readonly SourceDefinition[] {
  if (path === undefined) return [];
  const parsed = file.safeParse(readJson(path));
  if (!parsed.success) throw new Error(`${path}: ${z.prettifyError(parsed.error)}`);
  return parsed.data.sources;
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}`, { cause: error });
  }
}
