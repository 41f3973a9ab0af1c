/** Builds images with Buildah, which needs no daemon, and with nothing installed on the machine. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { fetchOnce, findTool, type Progress } from "../../../tools/dev/stack/cached-tools.ts";
import { sayOnce } from "../say-once.ts";
import { unpackDebian } from "../servers/debian-packages.ts";

const run = promisify(execFile);

/** Buildah, and the libraries that it needs and few machines have. */
const packages = ["buildah", "libassuan0", "libdevmapper1.02.1", "libgpgme11", "libseccomp2"];

/** Debian's mirrors offer the newest build of a release only; that of Debian 12 is the oldest. */
const tool = {
  command: "buildah",
  title: "Buildah",
  version: "1.28",
  isMinimum: true,
  versionArgs: ["--version"],
  folder: "buildah-debian",
  fetch: unpack,
} as const;

/** What the folders of stores begin with; then comes the id of their process. */
const prefix = "meguri-image-";

/** A store of images and containers of its own. */
export interface Buildah {
  /** Runs a command of Buildah. Returns its output. */
  run(...args: readonly string[]): Promise<string>;
  /** Deletes all images and containers. */
  close(): Promise<void>;
}

/**
 * Opens an empty store. Packages that a build has fetched with npm stay in the project's cache.
 *
 * @throws Error without the rights of root, which its chroots and mounts need.
 */
export async function openBuildah(): Promise<Buildah> {
  if (process.getuid?.() !== 0) throw new Error("building the image needs the rights of root");
  const command = await findTool(tool, sayOnce);
  await removeLeftovers();
  const folder = await mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`));
  const at = (...names: string[]) => join(folder, ...names);
  await mkdir(at(".config/containers"), { recursive: true });
  const policy = JSON.stringify({ default: [{ type: "insecureAcceptAnything" }] });
  await writeFile(at(".config/containers/policy.json"), policy);
  // Buildah keeps the cache mounts of builds there.
  await mkdir(at("tmp"));
  await symlink(await findCacheMounts(), at("tmp/buildah-cache"));
  const store = ["--storage-driver", "vfs", "--root", at("store"), "--runroot", at("run")];
  const env = { ...process.env, HOME: folder, TMPDIR: at("tmp") };
  return {
    async run(...args) {
      const options = { env, maxBuffer: 2 ** 26 };
      return (await run(command, [...store, ...args], options)).stdout.trim();
    },
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Deletes the stores of processes that were killed. Their mounts have ended with them. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const [, pid] = new RegExp(`^${prefix}(\\d+)-`).exec(name) ?? [];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    await rm(join(tmpdir(), name), { recursive: true, force: true });
  }
}

/** The script of Buildah, beside its unpacked packages. */
async function unpack(folder: string, onProgress: Progress): Promise<string> {
  onProgress("fetching Buildah of Debian");
  const root = await unpackDebian(packages, folder);
  const libraries = join(folder, "libraries");
  const own = join(root, "usr/lib", `${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu`);
  await writeFile(libraries, `include /etc/ld.so.conf\n${own}\n`);
  await run("/sbin/ldconfig", ["-X", "-f", libraries, "-C", join(root, "ld.so.cache")]);
  const script = join(folder, "buildah");
  await writeFile(script, startScript, { mode: 0o755 });
  return script;
}

/**
 * Buildah starts itself with an empty environment, so a variable does not lead to its libraries. A
 * cache of the loader does, which only this process and its children see.
 */
const startScript = `#!/bin/sh
exec unshare --mount sh -c '
  mount --bind "$0/ld.so.cache" /etc/ld.so.cache && exec "$0/usr/bin/buildah" "$@"
' "$(dirname "$0")/root" "$@"
`;

/** The folder of the project's cache for what builds keep. */
async function findCacheMounts(): Promise<string> {
  const fetch = async (folder: string) => {
    const mounts = join(folder, "mounts");
    await mkdir(mounts);
    return mounts;
  };
  const title = "cache of builds";
  return await fetchOnce({ command: "mounts", title, folder: "image-builds", fetch }, sayOnce);
}

/** Debian's essential packages, and the library that Node needs, as a file system in a tar. */
export const findDebian = (): Promise<string> =>
  fetchOnce(
    { command: "root.tar", title: "base of Debian", folder: "debian-bookworm", fetch: bootstrap },
    sayOnce,
  );

async function bootstrap(folder: string, onProgress: Progress): Promise<string> {
  onProgress("making a base of Debian with mmdebstrap, once, some minutes");
  const root = await unpackDebian(["mmdebstrap"], folder);
  const file = join(folder, "root.tar");
  const options = ["--variant=essential", "--mode=root", "--include=libstdc++6"];
  const script = join(root, "usr/bin/mmdebstrap");
  await run("perl", [script, ...options, "bookworm", file], { maxBuffer: 2 ** 26 });
  await rm(root, { recursive: true });
  return file;
}
