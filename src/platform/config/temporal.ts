/** The variables that say how Temporal is reached. */
import { z } from "zod";
import type { Report } from "./config-error.ts";
import { file, flag, text } from "./fields.ts";

export const temporalVariables = {
  MEGURI_TEMPORAL_ADDRESS: z
    .string()
    // As the SDK reads it.
    .regex(/^(\[[0-9a-fA-F:.]+\]|[^:/\s[\]]+)(:\d{1,5})?$/, {
      error: "has to be host:port, without a scheme such as https://",
    })
    .prefault("127.0.0.1:7233"),
  MEGURI_TEMPORAL_NAMESPACE: text.prefault("default"),
  MEGURI_TEMPORAL_TLS: flag.prefault("0"),
  MEGURI_TEMPORAL_TLS_CA_FILE: file.optional(),
  MEGURI_TEMPORAL_TLS_CERT_FILE: file.optional(),
  MEGURI_TEMPORAL_TLS_KEY_FILE: file.optional(),
  MEGURI_TEMPORAL_SERVER_NAME: text.optional(),
  MEGURI_TEMPORAL_API_KEY_FILE: file.optional(),
};

type Env = z.output<z.ZodObject<typeof temporalVariables>>;

/** Which variables only mean something with TLS: a key needs a secret channel. */
const onlyTls = [
  "MEGURI_TEMPORAL_TLS_CA_FILE",
  "MEGURI_TEMPORAL_TLS_CERT_FILE",
  "MEGURI_TEMPORAL_TLS_KEY_FILE",
  "MEGURI_TEMPORAL_SERVER_NAME",
  "MEGURI_TEMPORAL_API_KEY_FILE",
] as const;

/** Turns the variables into configuration. Reports contradictions. */
export const readTemporal = (env: Env, report: Report) => ({
  temporalAddress: env.MEGURI_TEMPORAL_ADDRESS,
  temporalNamespace: env.MEGURI_TEMPORAL_NAMESPACE,
  temporalTls: readTls(env, report),
  /** The file of the API key. Absent: there is none. */
  temporalApiKeyFile: env.MEGURI_TEMPORAL_API_KEY_FILE,
});

/** Undefined: cleartext. */
function readTls(env: Env, report: Report) {
  if (!env.MEGURI_TEMPORAL_TLS) {
    for (const name of onlyTls) {
      if (env[name] !== undefined) report(name, "needs MEGURI_TEMPORAL_TLS=1");
    }
    return undefined;
  }
  const { MEGURI_TEMPORAL_TLS_CERT_FILE: certFile, MEGURI_TEMPORAL_TLS_KEY_FILE: keyFile } = env;
  if (keyFile !== undefined && certFile === undefined) {
    report("MEGURI_TEMPORAL_TLS_CERT_FILE", "is required with MEGURI_TEMPORAL_TLS_KEY_FILE");
  }
  if (certFile !== undefined && keyFile === undefined) {
    report("MEGURI_TEMPORAL_TLS_KEY_FILE", "is required with MEGURI_TEMPORAL_TLS_CERT_FILE");
  }
  return {
    /** Absent: the authorities that Node and the SDK trust. */
    caFile: env.MEGURI_TEMPORAL_TLS_CA_FILE,
    /** The client's certificate and key. Absent: it has none. */
    pair: certFile && keyFile ? { certFile, keyFile } : undefined,
    /** The name that the server's certificate has to have. Absent: that of the address. */
    serverName: env.MEGURI_TEMPORAL_SERVER_NAME,
  };
}
