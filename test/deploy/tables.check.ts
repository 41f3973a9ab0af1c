/** Checks deploy/tables.yaml by cfn-lint, which knows the schemas of CloudFormation's resources. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { findPythonTool } from "../support/deploy/python-tools.ts";
import { projectRoot } from "../support/markdown.ts";

const template = `${projectRoot}deploy/tables.yaml`;

/** Resolves with what cfn-lint says, and rejects if that is an error or a warning. */
const lint = async (file: string) =>
  (await promisify(execFile)(await findPythonTool("cfn-lint"), ["--", file])).stdout;

test("cfn-lint finds nothing", async () => {
  expect(await lint(template)).toBe("");
});

test.each([
  ["a wrong type of a key", "xm, AttributeType: N", "xm, AttributeType: X", "E3030"],
  ["a target that scales nothing", "&{Index}ReadTarget", "&{Index}RedTarget", "E1020"],
])("cfn-lint finds %s", async (_, right, wrong, code) => {
  const folder = await mkdtemp(join(tmpdir(), "meguri-tables-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "tables.yaml");
  await writeFile(file, (await readFile(template, "utf8")).replace(right, wrong));
  await expect(lint(file)).rejects.toMatchObject({ stdout: expect.stringContaining(code) });
});
