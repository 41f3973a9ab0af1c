/** The variables of a server that say who may call, and over which network. */
import { isIPv4 } from "node:net";
import { z } from "zod";
import type { Report } from "./config-error.ts";
import { file, listOf, oneOf, text, whole } from "./fields.ts";

/** The names of a caller's limits. */
const limit = oneOf(["programs", "owners", "actors", "holds", "event_types"]);
type Limit = z.output<typeof limit>;

/** Keys that come over the network in cleartext could be anybody's. */
function isSafeUrl(value: string): boolean {
  const { protocol, hostname = "" } = URL.parse(value) ?? {};
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}

const isOrigin = (origin: string): boolean =>
  URL.canParse(origin) && new URL(origin).origin === origin;

export const accessVariables = {
  MEGURI_AUTH: oneOf(["none", "jwt", "mtls"]).prefault("none"),
  MEGURI_JWKS_URL: z
    .string()
    .refine(isSafeUrl, { error: "has to be a URL with https://, or http:// on loopback" })
    .optional(),
  MEGURI_JWT_KEY_FILE: file.optional(),
  MEGURI_JWT_ISSUER: text.optional(),
  MEGURI_JWT_AUDIENCE: text.optional(),
  MEGURI_JWT_CLAIM_PREFIX: text.optional(),
  MEGURI_CALLERS_FILE: file.optional(),
  MEGURI_TLS_CERT_FILE: file.optional(),
  MEGURI_TLS_KEY_FILE: file.optional(),
  MEGURI_TLS_CLIENT_CA_FILE: file.optional(),
  MEGURI_REQUIRE_LIMITS: listOf(limit).optional(),
  MEGURI_CALLS_PER_SECOND: whole(1).optional(),
  MEGURI_CORS_ORIGINS: listOf(
    z.string().refine(isOrigin, { error: "has to have origins such as https://a.example only" }),
  ).optional(),
};

type Env = z.output<z.ZodObject<typeof accessVariables>>;
type Name = keyof Env;

/** How callers are verified. */
type AuthConfig =
  | { readonly kind: "none" }
  | {
      readonly kind: "jwt";
      readonly keys: { readonly jwksUrl: string } | { readonly keyFile: string };
      readonly issuer: string;
      readonly audience: string;
      readonly claimPrefix: string;
      readonly requiredLimits: readonly Limit[];
    }
  | {
      readonly kind: "mtls";
      readonly callersFile: string;
      readonly requiredLimits: readonly Limit[];
    };

/** Which variables only mean something with one kind of authentication. */
const only: Readonly<Record<AuthConfig["kind"], readonly Name[]>> = {
  none: [],
  jwt: [
    "MEGURI_JWKS_URL",
    "MEGURI_JWT_KEY_FILE",
    "MEGURI_JWT_ISSUER",
    "MEGURI_JWT_AUDIENCE",
    "MEGURI_JWT_CLAIM_PREFIX",
  ],
  mtls: ["MEGURI_CALLERS_FILE", "MEGURI_TLS_CLIENT_CA_FILE"],
};

/** Turns the variables into configuration. Reports missing variables and contradictions. */
export function readAccess(env: Env, report: Report) {
  const need = (name: Name, because: string): string => {
    const value = env[name];
    if (typeof value === "string") return value;
    report(name, `is required with ${because}`);
    return "";
  };
  const refuse = (names: readonly Name[], text: string) => {
    for (const name of names) if (env[name] !== undefined) report(name, text);
  };
  for (const kind of ["jwt", "mtls"] as const) {
    if (env.MEGURI_AUTH !== kind) refuse(only[kind], `is for MEGURI_AUTH=${kind}`);
  }
  if (env.MEGURI_AUTH === "none") {
    refuse(["MEGURI_REQUIRE_LIMITS"], "is for MEGURI_AUTH=jwt or mtls");
  }
  const auth = readAuth(env, need);
  if (auth.kind === "jwt") {
    const both = env.MEGURI_JWKS_URL !== undefined && env.MEGURI_JWT_KEY_FILE !== undefined;
    if (both) report("MEGURI_JWT_KEY_FILE", "and MEGURI_JWKS_URL exclude each other");
  }
  return {
    auth,
    tls: readTls(env, need),
    /** How many calls a second one service may send to one server. Absent: any number. */
    callsPerSecond: env.MEGURI_CALLS_PER_SECOND,
    /** The origins whose pages may call. */
    corsOrigins: env.MEGURI_CORS_ORIGINS ?? [],
  };
}

type Need = (name: Name, because: string) => string;

function readAuth(env: Env, need: Need): AuthConfig {
  const kind = env.MEGURI_AUTH;
  const because = `MEGURI_AUTH=${kind}`;
  if (kind === "none") return { kind };
  const requiredLimits = env.MEGURI_REQUIRE_LIMITS ?? [];
  if (kind === "mtls") {
    return { kind, callersFile: need("MEGURI_CALLERS_FILE", because), requiredLimits };
  }
  const keyFile = env.MEGURI_JWT_KEY_FILE;
  const either = `${because}, or MEGURI_JWT_KEY_FILE is`;
  return {
    kind,
    keys: keyFile === undefined ? { jwksUrl: need("MEGURI_JWKS_URL", either) } : { keyFile },
    issuer: need("MEGURI_JWT_ISSUER", because),
    audience: need("MEGURI_JWT_AUDIENCE", because),
    claimPrefix: env.MEGURI_JWT_CLAIM_PREFIX ?? "meguri_",
    requiredLimits,
  };
}

/** The certificates of the two ports. Undefined: cleartext. */
function readTls(env: Env, need: Need) {
  const mtls = env.MEGURI_AUTH === "mtls";
  if (!mtls && !env.MEGURI_TLS_CERT_FILE && !env.MEGURI_TLS_KEY_FILE) return undefined;
  const because = (other: Name) => (mtls ? "MEGURI_AUTH=mtls" : other);
  return {
    certFile: need("MEGURI_TLS_CERT_FILE", because("MEGURI_TLS_KEY_FILE")),
    keyFile: need("MEGURI_TLS_KEY_FILE", because("MEGURI_TLS_CERT_FILE")),
    clientCaFile: mtls ? need("MEGURI_TLS_CLIENT_CA_FILE", "MEGURI_AUTH=mtls") : undefined,
  };
}

/** Whether only this machine reaches the host. */
export const isLoopback = (host: string): boolean =>
  host === "localhost" ||
  host === "::1" ||
  host === "[::1]" ||
  (isIPv4(host) && host.startsWith("127."));
