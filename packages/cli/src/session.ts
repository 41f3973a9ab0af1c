/** The session of one run of a command: the client, the output, and how it can be repeated. */
import { readFileSync } from "node:fs";
import { type CallOptions, createMeguri, type Meguri, type MeguriOptions } from "@meguri/client";
import { UsageError } from "./errors.ts";
import { exitCodes } from "./exit-codes.ts";
import type { Io } from "./io.ts";
import type { Output } from "./output.ts";

/** The options that every command has. */
export interface GlobalOptions {
  readonly url?: string | undefined;
  readonly token?: string | undefined;
  readonly caller?: string | undefined;
  readonly timeout: number;
  readonly json?: true | undefined;
}

export interface Session {
  readonly meguri: Meguri;
  readonly out: Output;
  readonly io: Io;
  /** How the client is connected. */
  readonly connection: MeguriOptions & {
    readonly url: readonly string[];
    readonly timeoutMs: number;
  };
  /** Ends calls when the command is interrupted. */
  readonly call: CallOptions & { readonly signal: AbortSignal };
  /** The exit code of the command unless it throws. */
  exitCode: number;
  /** The options that repeat the command as the same call, if its arguments alone do not. */
  repeatWith: string | undefined;
}

/** Opens a session. Throws UsageError for options and files that cannot be used. */
export function openSession(io: Io, out: Output, options: GlobalOptions): Session {
  const connection = readConnection(io.env, options);
  return {
    meguri: connect(connection),
    out,
    io,
    connection,
    call: { signal: io.signal },
    exitCode: exitCodes.done,
    repeatWith: undefined,
  };
}

/** Prints a note at the end, and sets the exit code unless all is well. */
export async function conclude(session: Session, note: string, isWell: boolean): Promise<void> {
  await session.out.note(note);
  if (!isWell) session.exitCode = exitCodes.refused;
}

function readConnection(env: NodeJS.ProcessEnv, options: GlobalOptions): Session["connection"] {
  const url = options.url || env.MEGURI_URL || "http://127.0.0.1:8080";
  const token = options.token || env.MEGURI_TOKEN;
  const tls = readTls(env);
  return {
    url: url.split(",").map((address) => address.trim()),
    ...(token ? { token } : { caller: options.caller || env.MEGURI_CALLER || "cli" }),
    ...(tls && { tls }),
    timeoutMs: options.timeout * 1_000,
  };
}

function connect(connection: MeguriOptions): Meguri {
  try {
    return createMeguri(connection);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

const tlsVariables = [
  ["ca", "MEGURI_CA_FILE"],
  ["cert", "MEGURI_CERT_FILE"],
  ["key", "MEGURI_KEY_FILE"],
] as const;

/** Throws UsageError that names each file that cannot be read. */
function readTls(env: NodeJS.ProcessEnv): MeguriOptions["tls"] {
  const tls: Record<string, string> = {};
  const problems: string[] = [];
  for (const [field, name] of tlsVariables) {
    const file = env[name];
    if (!file) continue;
    try {
      tls[field] = readFileSync(file, "utf8");
    } catch (error) {
      problems.push(`${name}: ${(error as Error).message}`);
    }
  }
  if (problems.length > 0) throw new UsageError(problems.join("; "));
  return Object.keys(tls).length > 0 ? tls : undefined;
}
