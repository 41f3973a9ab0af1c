/** The variables that say who may call, over which network, and how Temporal is reached. */
import { isIPv4 } from "node:net";
import { z } from "zod";

/** A variable that is "0" or "1". */
export const flag = z.enum(["0", "1"]).transform((value) => value === "1");

const file = z.string().min(1).optional();
const text = z.string().min(1).optional();

/** What a caller may be limited to. */
const limit = z.enum(["programs", "owners", "actors"]);
type Limit = z.output<typeof limit>;

/** Keys that come over the network in cleartext could be anybody's. */
const isSafeUrl = (url: string): boolean => {
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
};

const isOrigin = (origin: string): boolean =>
  URL.canParse(origin) && new URL(origin).origin === origin;

export const accessVariables = {
  MEGURI_HOST: z.string().min(1).default("127.0.0.1"),
  MEGURI_AUTH: z.enum(["none", "jwt", "mtls"]).default("none"),
  MEGURI_JWKS_URL: z
    .url()
    .refine(isSafeUrl, { error: "has to be https, or http on loopback" })
    .optional(),
  MEGURI_JWT_KEY_FILE: file,
  MEGURI_JWT_ISSUER: text,
  MEGURI_JWT_AUDIENCE: text,
  MEGURI_JWT_CLAIM_PREFIX: text,
  MEGURI_CALLERS_FILE: file,
  MEGURI_TLS_CERT_FILE: file,
  MEGURI_TLS_KEY_FILE: file,
  MEGURI_TLS_CLIENT_CA_FILE: file,
  MEGURI_REQUIRE_LIMITS: z
    .string()
    .transform((list) => list.split(",").map((name) => name.trim()))
    .pipe(z.array(limit))
    .optional(),
  MEGURI_CALLS_PER_SECOND: z.coerce.number().int().min(1).optional(),
  MEGURI_CORS_ORIGINS: z
    .string()
    .transform((list) => list.split(",").map((origin) => origin.trim()))
    .pipe(z.array(z.string().refine(isOrigin, { error: "is no origin such as https://a.example" })))
    .default([]),
  MEGURI_TEMPORAL_TLS: flag.default(false),
  MEGURI_TEMPORAL_TLS_CA_FILE: file,
  MEGURI_TEMPORAL_TLS_CERT_FILE: file,
  MEGURI_TEMPORAL_TLS_KEY_FILE: file,
  MEGURI_TEMPORAL_SERVER_NAME: text,
  MEGURI_TEMPORAL_API_KEY: text,
};

const variables = z.object(accessVariables);
type Env = z.output<typeof variables>;
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

/** Which variables only mean something with TLS towards Temporal: a key needs a secret channel. */
const onlyTemporalTls: readonly Name[] = [
  "MEGURI_TEMPORAL_TLS_CA_FILE",
  "MEGURI_TEMPORAL_TLS_CERT_FILE",
  "MEGURI_TEMPORAL_TLS_KEY_FILE",
  "MEGURI_TEMPORAL_SERVER_NAME",
  "MEGURI_TEMPORAL_API_KEY",
];

/** Turns the variables into configuration. Reports those that are missing or contradict. */
export function readAccess(env: Env, context: z.RefinementCtx) {
  const report = (name: Name, message: string) =>
    context.addIssue({ code: "custom", path: [name], message });
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
  if (env.MEGURI_AUTH === "none" && !isLoopback(env.MEGURI_HOST)) {
    const text = "is not loopback, which MEGURI_AUTH=none needs because it verifies no caller";
    report("MEGURI_HOST", text);
  }
  if (!env.MEGURI_TEMPORAL_TLS) refuse(onlyTemporalTls, "needs MEGURI_TEMPORAL_TLS=1");
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
    corsOrigins: env.MEGURI_CORS_ORIGINS,
    temporalTls: readTemporalTls(env, need),
    /** A secret. */
    temporalApiKey: env.MEGURI_TEMPORAL_API_KEY,
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
  const because = mtls ? "MEGURI_AUTH=mtls" : "the other one of the pair";
  return {
    certFile: need("MEGURI_TLS_CERT_FILE", because),
    keyFile: need("MEGURI_TLS_KEY_FILE", because),
    clientCaFile: mtls ? need("MEGURI_TLS_CLIENT_CA_FILE", because) : undefined,
  };
}

/** TLS towards Temporal. Undefined: cleartext. */
function readTemporalTls(env: Env, need: Need) {
  if (!env.MEGURI_TEMPORAL_TLS) return undefined;
  const { MEGURI_TEMPORAL_TLS_CERT_FILE: certFile, MEGURI_TEMPORAL_TLS_KEY_FILE: keyFile } = env;
  const because = "the other one of the pair";
  const pair =
    certFile !== undefined || keyFile !== undefined
      ? {
          certFile: need("MEGURI_TEMPORAL_TLS_CERT_FILE", because),
          keyFile: need("MEGURI_TEMPORAL_TLS_KEY_FILE", because),
        }
      : undefined;
  return {
    /** Absent: the authorities that Node and the SDK trust. */
    caFile: env.MEGURI_TEMPORAL_TLS_CA_FILE,
    /** The client's certificate and key. Absent: it has none. */
    pair,
    /** The name that the server's certificate has to have. Absent: that of the address. */
    serverName: env.MEGURI_TEMPORAL_SERVER_NAME,
  };
}

/** Whether only this machine reaches the host. */
export const isLoopback = (host: string): boolean =>
  host === "localhost" ||
  host === "::1" ||
  host === "[::1]" ||
  (isIPv4(host) && host.startsWith("127."));
