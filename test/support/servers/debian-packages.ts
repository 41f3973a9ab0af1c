/** Fetches programs out of packages of Debian or Ubuntu, without installing the packages. */
import { execFile } from "node:child_process";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * Downloads the packages into the folder and unpacks them into `root` beside it, whose path it
 * returns. This needs no rights of root.
 *
 * @throws Error where there is no apt-get, or no mirror answers it.
 */
export async function unpackDebian(packages: readonly string[], folder: string): Promise<string> {
  await download(packages, folder);
  const files = (await readdir(folder)).filter((file) => file.endsWith(".deb"));
  for (const file of files) await run("dpkg", ["-x", file, "root"], { cwd: folder });
  const root = join(dirname(folder), "root");
  await rm(root, { recursive: true, force: true });
  await rename(join(folder, "root"), root);
  return root;
}

/** Downloads the packages by the machine's lists of packages, else by fresh ones of its own. */
async function download(packages: readonly string[], folder: string): Promise<void> {
  const args = ["download", ...packages];
  try {
    await run("apt-get", args, { cwd: folder });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") throw error;
    const [lists, cache] = [join(folder, "lists"), join(folder, "cache")];
    for (const path of [lists, cache]) await mkdir(join(path, "partial"), { recursive: true });
    const own = ["-o", `Dir::State::Lists=${lists}`, "-o", `Dir::Cache=${cache}`];
    await run("apt-get", [...own, "update"], { cwd: folder });
    await run("apt-get", [...own, ...args], { cwd: folder });
  }
}
