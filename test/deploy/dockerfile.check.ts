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

test("a build without a commit fails", async () => {
  const [, check = ""] = /^RUN (test -n "\$\{COMMIT\}" .*)$/m.exec(dockerfile) ?? [];
  const build = (COMMIT: string) => run("sh", ["-c", check], { env: { COMMIT } });
  await build("abc");
  await expect(build("")).rejects.toThrow("--build-arg COMMIT is missing");
});
