/** Checks deploy/Dockerfile without building it. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { findPythonTool } from "../support/deploy/python-tools.ts";
import { projectRoot } from "../support/markdown.ts";

const run = promisify(execFile);

const path = `${projectRoot}deploy/Dockerfile`;
const dockerfile = readFileSync(path, "utf8");

test("hadolint finds nothing", async () => {
  await run(await findPythonTool("hadolint"), [path]);
});

test("the base has the version of Node that runs the tests", () => {
  const { devDependencies } = JSON.parse(readFileSync(`${projectRoot}package.json`, "utf8"));
  expect(dockerfile).toMatch(
    new RegExp(`^ARG BASE_IMAGE=docker.io/library/node:${devDependencies.node}-slim$`, "m"),
  );
});

test("the list of packages has those of the lock, but for what developers alone need", async () => {
  const text = readFileSync(`${projectRoot}docs/run/install.md`, "utf8");
  const [, commands = ""] = /```sh\n(folder=[^`]*npm sbom[^`]*)```/.exec(text) ?? [];
  const script = `set -e; exec 3>&1 1>&2; ${commands} cat meguri.cdx.json >&3; rm -r "$folder"`;
  const { stdout } = await run("sh", ["-c", script], { cwd: projectRoot, maxBuffer: 2 ** 26 });
  const components: { name: string; version: string }[] = JSON.parse(stdout).components;
  const own = ["cli", "client"];
  const listed = components.filter(({ name }) => !own.includes(name)).map(nameAndVersion);
  const { packages } = JSON.parse(readFileSync(`${projectRoot}package-lock.json`, "utf8"));
  const installed = Object.entries<Locked>(packages)
    .filter(([path, { dev, link }]) => path.includes("node_modules/") && !dev && !link)
    .map(([path, { name, version }]) =>
      nameAndVersion({ name: name ?? path.replace(/^.*node_modules\//, ""), version }),
    );
  expect(installed.length).toBeGreaterThan(200);
  expect(listed.toSorted()).toEqual([...new Set(installed)].sort());
});

const nameAndVersion = ({ name, version }: { name: string; version: string }): string =>
  `${name} ${version}`;

/** A package in package-lock.json. */
interface Locked {
  readonly name?: string;
  readonly version: string;
  readonly dev?: boolean;
  readonly link?: boolean;
}

test("a build without a commit fails", async () => {
  const [, check = ""] = /^RUN (test -n "\$\{COMMIT\}" .*)$/m.exec(dockerfile) ?? [];
  const build = (COMMIT: string) => run("sh", ["-c", check], { env: { COMMIT } });
  await build("abc");
  await expect(build("")).rejects.toThrow("--build-arg COMMIT is missing");
});
