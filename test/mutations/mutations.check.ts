/** Tests that `npm run test:mutations` tells which changes of a file no test notices. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { projectRoot } from "../support/markdown.ts";
import { readersEnvironment } from "../support/servers/bare-clone.ts";

test("the changes of a file are noticed by its tests, but for those that are listed", async () => {
  const env = { ...readersEnvironment(), MUTATIONS_OF: "src/platform/words/month.ts" };
  const args = ["run", "test:mutations", "--", "test/platform/words/month"];
  const { stdout } = await promisify(execFile)("npm", args, { cwd: projectRoot, env });
  const [, percent, count] =
    /^(\d+) % of (\d+) changes: src\/platform\/words\/month\.ts$/m.exec(stdout)?.map(Number) ?? [];
  const survivors = stdout.match(/^survived: src\/platform\/words\/month\.ts:\d+:\d+ /gm) ?? [];
  expect(count).toBeGreaterThan(survivors.length);
  expect(percent).toBe(Math.round((1 - survivors.length / Number(count)) * 100));
  expect(stdout).toContain("kills nothing alone: test/platform/words/month.test.ts > months > ");
});
