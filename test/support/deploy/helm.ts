/** Finds or builds Helm, which renders and checks the chart. */
import { join } from "node:path";
import { findTool, installWithGo, type Progress } from "../../../tools/dev/stack/cached-tools.ts";
import { sayOnce } from "../say-once.ts";

const version = "3.19.0";

const tool = {
  command: "helm",
  title: "Helm",
  version,
  versionArgs: ["version", "--short"],
  folder: `helm-v${version}`,
  fetch: build,
};

/**
 * Returns the path of Helm, which is built with Go once, in some minutes.
 *
 * @throws Error of `go install`.
 */
export const findHelm = (): Promise<string> => findTool(tool, sayOnce);

async function build(folder: string, onProgress: Progress): Promise<string> {
  const goPackage = {
    title: `Helm ${version}`,
    package: `helm.sh/helm/v3/cmd/helm@v${version}`,
    duration: "some minutes",
  };
  await installWithGo(goPackage, folder, onProgress);
  return join(folder, "helm");
}
