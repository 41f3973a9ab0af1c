/** Tests that `npm run test:mutations` tells which changes of a file no test notices. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = `${import.meta.dirname}/../..`;

test("the changes of a file are noticed by its tests, but for those that are listed", async () => {
  // Without the variables that Vitest has set for this test.
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, MUTATIONS_OF: "src/domain/month.ts" };
  const args = ["run", "test:mutations", "--", "test/domain/month"];
  const { stdout } = await promisify(execFile)("npm", args, { cwd: root, env });
  const [, percent, count] =
    /^(\d+) % of (\d+) changes: src\/domain\/month\.ts$/m.exec(stdout)?.map(Number) ?? [];
  const survivors = stdout.match(/^survived: src\/domain\/month\.ts:\d+:\d+ /gm) ?? [];
  expect(count).toBeGreaterThan(survivors.length);
  expect(percent).toBe(Math.round((1 - survivors.length / Number(count)) * 100));
  expect(stdout).toContain("kills nothing alone: test/domain/month.test.ts > months > ");
});
