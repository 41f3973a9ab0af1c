/** Reads deploy/compose.yaml with the reference implementation of the Compose Specification. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseEnv, promisify } from "node:util";
import { findTool, installWithGo, type Progress } from "../../../tools/dev/stack/cached-tools.ts";
import { codeNamed, projectRoot } from "../markdown.ts";
import { sayOnce } from "../say-once.ts";

const version = "2.16.2";

/** The part of a service that the checks look at. */
export interface Service {
  readonly image: string;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly env_file: readonly { readonly path: string }[];
  readonly secrets: readonly { readonly source: string; readonly target: string }[];
  readonly ports?: readonly { readonly target: number }[];
  readonly read_only: boolean;
  readonly cap_drop: readonly string[];
  readonly security_opt: readonly string[];
  readonly stop_grace_period: string;
  readonly restart: string;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
}

export type Services = Readonly<Record<"server" | "worker" | "events" | "setup", Service>>;

export const composeFile = readFileSync(`${projectRoot}deploy/compose.yaml`, "utf8");

/** The variables in meguri.env of the documentation. */
export const documentedEnv = (): Record<string, string> =>
  parseEnv(codeNamed("docs/run/install.md", "composeEnv")) as Record<string, string>;

/** Returns the services of a compose file. Throws what is wrong with it. */
export async function loadCompose(text = composeFile): Promise<Services> {
  const command = await findTool(
    {
      command: "compose-go",
      title: "compose-go",
      version,
      folder: `compose-go-v${version}`,
      fetch: build,
    },
    sayOnce,
  );
  const cwd = await mkdtemp(join(tmpdir(), "meguri-compose-"));
  try {
    await writeFile(join(cwd, "compose.yaml"), text);
    await writeFile(join(cwd, "meguri.env"), codeNamed("docs/run/install.md", "composeEnv"));
    const args = ["-no-interpolation", "-no-path-resolution", "-format", "json", "compose.yaml"];
    const { stdout } = await promisify(execFile)(command, args, { cwd });
    return JSON.parse(stdout).services;
  } finally {
    await rm(cwd, { recursive: true });
  }
}

/** The package is named `cmd`, as its program is. */
async function build(folder: string, onProgress: Progress): Promise<string> {
  const goPackage = {
    title: `compose-go ${version}`,
    package: `github.com/compose-spec/compose-go/v2/cmd@v${version}`,
    duration: "a minute",
  };
  await installWithGo(goPackage, folder, onProgress);
  return join(folder, "cmd");
}
