/** Builds the image of deploy/Dockerfile, without a container engine or a registry of images. */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { projectRoot } from "../markdown.ts";
import { type Buildah, findDebian, openBuildah } from "./buildah.ts";

const base = "localhost/base:test";
const image = "localhost/meguri:test";

/** What the image says about the processes that are started from it. */
interface ImageConfig {
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly Env: readonly string[];
  readonly Labels: Readonly<Record<string, string>>;
  readonly User: string;
  readonly WorkingDir: string;
}

export interface Image {
  readonly config: ImageConfig;
  /** The path of its files on this machine. */
  readonly root: string;
  /** The commit that is checked out. */
  readonly commit: string;
  remove(): Promise<void>;
}

/** @throws Error of Buildah, with its output, when a step of the Dockerfile fails. */
export async function buildImage(): Promise<Image> {
  const buildah = await openBuildah();
  try {
    await buildBase(buildah);
    const run = promisify(execFile);
    const { stdout } = await run("git", ["rev-parse", "HEAD"], { cwd: projectRoot });
    const commit = stdout.trim();
    await bud(buildah, [`BASE_IMAGE=${base}`, `COMMIT=${commit}`]);
    const inspected = await buildah.run("inspect", "--type", "image", image);
    const { config } = JSON.parse(inspected).OCIv1 as { config: ImageConfig };
    const root = await buildah.run("mount", await buildah.run("from", image));
    return { config, root, commit, remove: buildah.close };
  } catch (error) {
    await buildah.close();
    throw error;
  }
}

/** Builds as `docker build` does. */
async function bud(buildah: Buildah, args: readonly string[]): Promise<void> {
  const file = join(projectRoot, "deploy/Dockerfile");
  await buildah.run(
    "bud",
    ...["--isolation", "chroot", "--file", file, "--ignorefile", `${file}.dockerignore`],
    ...args.flatMap((arg) => ["--build-arg", arg]),
    ...["--tag", image, projectRoot],
  );
}

/** Stands for the official image of Node: Debian, the Node of package.json, and npm. */
async function buildBase(buildah: Buildah): Promise<void> {
  const container = await buildah.run("from", "scratch");
  await buildah.run("add", "--quiet", container, await findDebian(), "/");
  const local = await mkdtemp(join(tmpdir(), "meguri-node-"));
  try {
    await copyNode(local);
    await buildah.run("add", "--quiet", container, local, "/usr/local");
    // A proxy of this machine may have an authority of its own.
    const { NODE_EXTRA_CA_CERTS: authorities } = process.env;
    if (authorities) {
      const file = "/usr/local/share/authorities.pem";
      await buildah.run("add", "--quiet", container, authorities, file);
      await buildah.run("config", "--env", `NODE_EXTRA_CA_CERTS=${file}`, container);
    }
    await buildah.run("commit", "--quiet", "--rm", container, base);
  } finally {
    await rm(local, { recursive: true });
  }
}

/** Node of the npm package `node`, and the npm that runs these tests. */
async function copyNode(folder: string): Promise<void> {
  const { npm_execpath: npm } = process.env;
  if (npm === undefined) throw new Error("to be run with npm: npm run check:deploy");
  for (const name of ["bin", "lib/node_modules"]) {
    await mkdir(join(folder, name), { recursive: true });
  }
  await cp(join(projectRoot, "node_modules/node/bin/node"), join(folder, "bin/node"));
  await cp(dirname(dirname(npm)), join(folder, "lib/node_modules/npm"), { recursive: true });
  await symlink("../lib/node_modules/npm/bin/npm-cli.js", join(folder, "bin/npm"));
}
