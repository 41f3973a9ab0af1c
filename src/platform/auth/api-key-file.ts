/** Reads the API key for Temporal. */
import type { Logger } from "../observe/log.ts";
import { type Watched, watchFiles } from "./watch-files.ts";

/** Reads the key, and reads it again when the file changes. */
export const watchApiKey = (file: string, log: Logger): Watched<string> =>
  watchFiles([file], ([content = ""]) => parseApiKey(content), log);

/** The key without the line end behind it. Throws if it could not be sent in a header. */
function parseApiKey(content: string): string {
  const key = content.trim();
  if (key === "") throw new Error("the file has no API key");
  if (!/^[\x21-\x7e]+$/.test(key)) throw new Error("an API key is one word of ASCII");
  return key;
}
