/** A spreadsheet of Google Sheets as a source of rows: each of its tabs is a file. */
import { checkVersion } from "../../platform/objects/paths.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { DefinitionOf } from "../sources/definitions.ts";
import type { OpenFile, Source, SourceFile } from "../sources/source.ts";
import { readServiceAccountKey, sheetsScope, signIn } from "./auth.ts";
import { readTab } from "./read-tab.ts";
import { type SpreadsheetRef, spreadsheetUrl, tabNamed } from "./tabs.ts";
import { writeTab } from "./write-tab.ts";

type Definition = Pick<DefinitionOf<"sheet">, "spreadsheet_id" | "key_file" | "endpoint">;

/**
 * Opens a spreadsheet. A path is the title of a tab. Nothing is ever moved there, and its tabs are
 * not picked up, because a person may still write in one. Throws when the key file cannot be used;
 * does not call Google yet. Tabs of more than `maxTabBytes` are refused.
 */
export function createSheetSource(
  { spreadsheet_id, key_file, endpoint }: Definition,
  maxTabBytes?: number,
): Source {
  const key = readServiceAccountKey(key_file);
  const connect = async (): Promise<SpreadsheetRef> => {
    const { auth, sheets } = await import("@googleapis/sheets");
    const account = signIn(auth.JWT, key, sheetsScope);
    const rootUrl = endpoint === undefined ? {} : { rootUrl: endpoint };
    const api = sheets({ version: "v4", auth: account, ...rootUrl });
    return { api, spreadsheetId: spreadsheet_id, maxTabBytes };
  };
  let connected: Promise<SpreadsheetRef> | undefined;
  const spreadsheet = () => {
    connected ??= connect();
    return connected;
  };
  return {
    open: async (file) => openTab(await spreadsheet(), file),
    listNew: async () => ({ items: [] }),
    move: async () => undefined,
    writeErrors: async (_, errors) => writeTab(await spreadsheet(), errors),
  };
}

async function openTab(spreadsheet: SpreadsheetRef, file: SourceFile): Promise<OpenFile> {
  const tab = await tabNamed(spreadsheet, file.path);
  if (!tab) throw new DomainError("INVALID_REQUEST", `the spreadsheet has no tab ${file.path}`);
  const read = await readTab(spreadsheet, tab);
  return {
    csv: checkVersion(read(), file.path, file.version),
    url: spreadsheetUrl(spreadsheet.spreadsheetId, tab.sheetId),
  };
}
