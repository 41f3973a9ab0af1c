/** Finds or builds Helm, which renders and checks the chart. */
import { join } from "node:path";
import { findTool, installWithGo } from "../../../src/dev/stack/cached-tools.ts";

const version = "v3.19.0";
const title = `Helm ${version}`;
const name = `helm.sh/helm/v3/cmd/helm@${version}`;

/**
 * Returns the path of Helm: the one on the PATH, or one in the project's cache folder, where it is
 * built with Go once, in some minutes.
 *
 * @throws Error of `go install`.
 */
export const findHelm = (): Promise<string> =>
  findTool({ command: "helm", title, folder: `helm-${version}`, fetch: build }, console.error);

async function build(folder: string): Promise<string> {
  await installWithGo({ title, package: name, folder }, console.error);
  return join(folder, "helm");
}
