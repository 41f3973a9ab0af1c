/** Finds or builds the test suites that are Go programs, and the files of Go modules. */
import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { findTool, installWithGo, type Progress } from "../../../tools/dev/stack/cached-tools.ts";
import { sayOnce } from "../say-once.ts";

const run = promisify(execFile);

const suites = {
  h2spec: {
    package: "github.com/summerwind/h2spec/cmd/h2spec",
    // It says another one. It has no go.mod, so it is built with the latest golang.org/x/net.
    version: "2.2.1+incompatible",
    versionArgs: undefined,
  },
  connectconformance: {
    package: "connectrpc.com/conformance/cmd/connectconformance",
    version: "1.0.7",
    versionArgs: ["--version"],
  },
} as const;

/** The files of these modules are the vectors and the protos of suites. */
const modules = {
  conformance: `connectrpc.com/conformance@v${suites.connectconformance.version}`,
  wycheproof: "github.com/c2sp/wycheproof@v0.0.0-20260902155932-3fa63dd0344a",
} as const;

/**
 * Returns the path of a suite's program, which is built once with Go.
 *
 * @throws ToolMissing when there is no Go.
 */
export async function findSuite(command: keyof typeof suites): Promise<string> {
  const { package: name, version, versionArgs } = suites[command];
  const fetch = async (folder: string, onProgress: Progress) => {
    const goPackage = {
      title: `${command} ${version}`,
      package: `${name}@v${version}`,
      duration: "a minute or two",
    };
    await installWithGo(goPackage, folder, onProgress);
    return join(folder, command);
  };
  const folder = `${command}-v${version}`;
  return await findTool({ command, title: command, version, versionArgs, folder, fetch }, sayOnce);
}

/**
 * Returns the folder of a module in Go's cache, into which Go puts it once and checks its hash.
 *
 * @throws Error when there is no Go, or no proxy that has the module.
 */
export async function findModule(name: keyof typeof modules): Promise<string> {
  const module = modules[name];
  try {
    // Outside of this folder, so that no go.mod above it is read.
    const { stdout } = await run("go", ["mod", "download", "-json", module], { cwd: tmpdir() });
    const { Dir } = JSON.parse(stdout) as { readonly Dir: string };
    sayOnce(`${module}: ${Dir}`);
    return Dir;
  } catch (cause) {
    throw new Error(`cannot fetch ${module}: it takes Go and the Go proxy`, { cause });
  }
}
