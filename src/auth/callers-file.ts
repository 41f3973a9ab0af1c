/** Parses the file that says which services the URIs of certificates are, and what they may do. */
import { z } from "zod";
import type { Identity } from "../app/ports/identity.ts";
import { servicePattern, subjectPattern } from "./ids.ts";
import { limitsSchema, toPermissions } from "./permissions.ts";

const fileSchema = z.strictObject({
  callers: z
    .array(
      z.strictObject({
        uri: z.string().regex(subjectPattern),
        service: z.string().regex(servicePattern),
        scopes: z.array(z.string().min(1)),
        ...limitsSchema,
      }),
    )
    .refine((callers) => new Set(callers.map(({ uri }) => uri)).size === callers.length, {
      error: "has a URI twice",
    }),
});

/** The identities by URI; the URI is the subject. Throws an error that names what is wrong. */
export function parseCallers(content: string): ReadonlyMap<string, Identity> {
  const parsed = fileSchema.safeParse(JSON.parse(content));
  if (!parsed.success) throw new Error(`callers: ${z.prettifyError(parsed.error)}`);
  return new Map(
    parsed.data.callers.map(({ uri, service, ...permissions }) => [
      uri,
      { caller: { service, subject: uri }, ...toPermissions(permissions) },
    ]),
  );
}
