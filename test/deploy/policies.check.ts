/** Checks deploy/policies by parliament, which knows the actions and resources of IAM. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { policies } from "../support/deploy/policies.ts";
import { findPythonTool } from "../support/deploy/python-tools.ts";
import { projectRoot } from "../support/markdown.ts";

const parameters: Readonly<Record<string, string>> = {
  Partition: "aws",
  Region: "ap-northeast-1",
  Account: "123456789012",
  Prefix: "meguri-",
  Bucket: "campaigns",
  Queue: "points.fifo",
  Topic: "points.fifo",
  Bus: "shop",
};

const filled = (name: string): string =>
  readFileSync(`${projectRoot}deploy/policies/${name}.json`, "utf8").replaceAll(
    /\$\{(\w+)\}/g,
    (parameter, of) => parameters[of] ?? parameter,
  );

/** What parliament finds in a policy: a line for each finding. */
async function findings(policy: string): Promise<string> {
  const parliament = await findPythonTool("parliament");
  return new Promise((resolve) => {
    const child = execFile(parliament, ["--json"], (_, out, err) => resolve(out + err));
    child.stdin?.end(policy);
  });
}

test.each(Object.values(policies).flat())("parliament finds nothing in %s.json", async (name) => {
  expect(await findings(filled(name))).toBe("");
});

test.each([
  ["an unknown action", "dynamodb:GetItem", "dynamodb:ReadItem", "UNKNOWN_ACTION"],
  ["an action on the wrong resource", ":table/meguri-", ":export/meguri-", "RESOURCE_MISMATCH"],
])("parliament finds %s", async (_, right, wrong, issue) => {
  expect(await findings(filled("server").replaceAll(right, wrong))).toContain(issue);
});
