/** Parses the file that says which services the URIs of certificates are, and what they may do. */
import { z } from "zod";
import type { Identity } from "../ports/identity.ts";
import { servicePattern, subjectPattern } from "./ids.ts";
import { type LimitName, limitsSchema, missingLimit, toPermissions } from "./permissions.ts";

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

/**
 * The identities by URI; the URI is the subject. Throws an error that names what is wrong, such as
 * a caller without one of the required limits.
 */
export function parseCallers(
  content: string,
  requiredLimits: readonly LimitName[],
): ReadonlyMap<string, Identity> {
  const parsed = fileSchema.safeParse(JSON.parse(content));
  if (!parsed.success) throw new Error(`callers: ${z.prettifyError(parsed.error)}`);
  for (const caller of parsed.data.callers) {
    const missing = missingLimit(caller, requiredLimits);
    if (missing !== undefined) throw new Error(`callers: ${caller.uri} has no limit ${missing}`);
  }
  return new Map(
    parsed.data.callers.map(({ uri, service, ...permissions }) => [
      uri,
      { caller: { service, subject: uri }, ...toPermissions(permissions) },
    ]),
  );
}
