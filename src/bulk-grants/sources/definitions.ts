/** Reads which sources of rows are configured, from the JSON file of MEGURI_BULK_SOURCES. */
import { z } from "zod";
import {
  folder,
  named,
  programId,
  readDefinitions,
  s3,
} from "../../platform/objects/definitions.ts";
import { timeZoneOf } from "../../platform/words/time-zone.ts";
import type { PickUpSource } from "../ports/bulk-grants.ts";
import { runSource } from "../rules/run-source.ts";
import { sheetEncodings } from "../rules/sheet-reading.ts";

/** When new files are picked up, and for which program. */
const pickUp = z.strictObject({
  program_id: programId,
  cron: z.string().regex(/^\S+( \S+){4}$/, "5 fields, as in 0 6 * * *"),
  time_zone: z.string().refine((name) => timeZoneOf(name) === name, "not in the IANA database"),
  /** The parts of a bulk grant's id: the file's name, or with "content" also its content. */
  ids: z.enum(["name", "content"]).optional(),
});

/** The fields of a source beside those of its type. */
const source = {
  /** The caller that submits the sheets of the source, and so never approves them. */
  identity: z.string().regex(/^[!-"$-~]{1,64}$/, "1 to 64 visible ASCII characters without #"),
  pick_up: pickUp.optional(),
};

/** The encoding of all CSV files, where it is not one that every sheet shows by itself. */
const files = { ...source, encoding: z.enum(sheetEncodings).optional() };

/** A folder of Google Drive that is shared with the service account as an editor. */
const drive = z.strictObject({
  ...named,
  ...source,
  type: z.literal("drive"),
  /** As it stands in the address of the folder. */
  folder_id: z.string().regex(/^[\w-]{1,128}$/),
  /** The path of a service account's key file in JSON, as the Google Cloud console makes it. */
  key_file: z.string().min(1),
  /** Another address than Google's, such as that of a private gateway. */
  endpoint: z.url({ protocol: /^https?$/ }).optional(),
  /** A spreadsheet that was changed less than this many minutes ago is left to the next pick-up. */
  quiet_minutes: z.int().min(1).max(1_440).optional(),
});

const badType =
  "has to be folder, s3 or drive. A spreadsheet of Google Sheets is read where it is in a folder " +
  "of Google Drive, type drive: docs/grant/google-sources.md";

const definition = z
  .discriminatedUnion("type", [folder.extend(files), s3.extend(files), drive], {
    error: ({ code }) => (code === "invalid_union" ? badType : undefined),
  })
  .superRefine(({ name, programs, pick_up }, context) => {
    if (name === runSource) {
      const message = "is the source of rows in the input of a run";
      context.addIssue({ code: "custom", message, path: ["name"] });
    }
    if (!pick_up || programs.includes(pick_up.program_id)) return;
    const message = `${pick_up.program_id} is none of the programs of ${name}`;
    context.addIssue({ code: "custom", message, path: ["pick_up", "program_id"] });
  });

/** One configured source. */
export type SourceDefinition = z.output<typeof definition>;

/** The fields of the sources of one type. */
export type DefinitionOf<T extends SourceDefinition["type"]> = Extract<
  SourceDefinition,
  { readonly type: T }
>;

/** The sources whose new files are picked up, and when. */
export const pickUpsOf = (definitions: readonly SourceDefinition[]): PickUpSource[] =>
  definitions.flatMap(({ name, pick_up }) =>
    pick_up
      ? { name, programId: pick_up.program_id, cron: pick_up.cron, timeZone: pick_up.time_zone }
      : [],
  );

/** Returns the configured sources, as readDefinitions does. */
export const readSourceDefinitions = (path: string | undefined): readonly SourceDefinition[] =>
  readDefinitions(path, "sources", definition);
