/** The variables of the channel by which processes announce changed inboxes. */
import { z } from "zod";
import type { Report } from "./config-error.ts";
import { file } from "./fields.ts";

/**
 * Whether a client can use the URL. A database is refused because channels do not belong to one; a
 * broken escape could not be decoded into a password.
 */
function isServerUrl(value: string): boolean {
  const url = URL.parse(value);
  if (!url || !/^rediss?:$/.test(url.protocol) || url.hostname === "") return false;
  if (!["", "/"].includes(url.pathname) || url.search !== "" || url.hash !== "") return false;
  return [url.username, url.password].every((text) => !/%(?![0-9A-Fa-f]{2})/.test(text));
}

export const announceVariables = {
  MEGURI_ANNOUNCE_URL: z
    .string()
    .refine(isServerUrl, {
      error: "has to be redis://[user:password@]host[:port], or rediss:// for TLS",
    })
    .optional(),
  MEGURI_ANNOUNCE_TLS_CA_FILE: file.optional(),
};

type Env = z.output<z.ZodObject<typeof announceVariables>>;

/** The server of the channel. Undefined: there is none. */
export function readAnnounce(env: Env, report: Report) {
  const { MEGURI_ANNOUNCE_URL: url, MEGURI_ANNOUNCE_TLS_CA_FILE: caFile } = env;
  if (caFile !== undefined && !url?.startsWith("rediss:")) {
    report("MEGURI_ANNOUNCE_TLS_CA_FILE", "needs a MEGURI_ANNOUNCE_URL with rediss://");
  }
  if (url === undefined) return undefined;
  return {
    /** May have a password, which is a secret. */
    url,
    /** The authorities of the server's certificate. Absent: those that Node trusts. */
    caFile,
  };
}
