/** How a Drive folder and a spreadsheet are written in the file that defines the sources. */
import { z } from "zod";

/** An id as it stands in the address of a file, a folder or a spreadsheet. */
const id = z.string().regex(/^[\w-]{1,128}$/);
/** The path of a service account's key file in JSON, as the Google Cloud console makes it. */
const keyFile = z.string().min(1);
/** Another address than Google's, such as that of a private gateway. */
const endpoint = z.url({ protocol: /^https?$/ }).optional();

/** A folder of Google Drive that is shared with the service account as an editor. */
export const driveFields = {
  type: z.literal("drive"),
  folder_id: id,
  key_file: keyFile,
  endpoint,
};

/** A spreadsheet of Google Sheets that is shared with the service account as an editor. */
export const sheetFields = {
  type: z.literal("sheet"),
  spreadsheet_id: id,
  key_file: keyFile,
  endpoint,
};
