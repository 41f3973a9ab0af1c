/** Writes what is wrong with a file of Google Drive to a file in the folder `failed`. */
import { buffer } from "node:stream/consumers";
import type { ErrorSheet } from "../ports/bulk-grants.ts";
import type { SheetAddress } from "../rules/bulk-grant.ts";
import { errorsName } from "../sources/files.ts";
import { answerOf } from "./auth.ts";
import { childrenNamed, type DriveFolder, sharedDrives, subfolder } from "./drive-folder.ts";

const mimeType = "text/csv";

/** Writes the file of errors of a path, or its next content when it is there already. */
export async function writeErrorsFile(
  folder: DriveFolder,
  path: string,
  { csv }: ErrorSheet,
): Promise<SheetAddress> {
  const name = errorsName(path);
  const fileId = await errorsFile(folder, name);
  const { webViewLink } = await answerOf(
    folder.drive.files.update(
      {
        fileId,
        // Its bytes, and no stream, so that the request can be repeated.
        media: { mimeType, body: await buffer(csv) },
        fields: "webViewLink",
        ...sharedDrives,
      },
      folder.rootUrl === undefined ? {} : { rootUrl: folder.rootUrl },
    ),
  );
  return { name: `failed/${name}`, url: webViewLink || undefined };
}

/** The id of the file, which is made when it is missing; of two that were made, the older one's. */
async function errorsFile({ drive, ...rest }: DriveFolder, name: string): Promise<string> {
  const folderId = await subfolder({ drive, ...rest }, "failed");
  const oldest = async () => {
    const filter = `and mimeType = '${mimeType}'`;
    const { value } = await childrenNamed({ drive, folderId }, name, filter).next();
    return value?.id ?? undefined;
  };
  const existing = await oldest();
  if (existing !== undefined) return existing;
  const requestBody = { name, mimeType, parents: [folderId] };
  const { id } = await answerOf(drive.files.create({ requestBody, fields: "id", ...sharedDrives }));
  const made = id as string;
  const first = (await oldest()) ?? made;
  if (first !== made) {
    const trashing = { fileId: made, requestBody: { trashed: true }, ...sharedDrives };
    await answerOf(drive.files.update(trashing));
  }
  return first;
}
