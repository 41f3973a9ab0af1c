/** Tests that all images of docs/run are taken by a test, shown by a page, and small. */
import { globSync, readFileSync, statSync } from "node:fs";
import { basename } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../support/markdown.ts";

const images = globSync("docs/run/images/*.png", { cwd: projectRoot });
const soak = readFileSync(`${projectRoot}test/soak/console.soak.ts`, "utf8");
const pages = globSync("docs/run/*.md", { cwd: projectRoot })
  .map((page) => readFileSync(projectRoot + page, "utf8"))
  .join("\n");

test("the questions of operators have images", () => {
  expect(images.length).toBeGreaterThan(20);
});

test.each(images)("%s", (image) => {
  const name = basename(image, ".png");
  expect(soak).toContain(`"${name}"`);
  expect(pages).toContain(`(images/${name}.png)`);
  expect(statSync(projectRoot + image).size).toBeLessThan(150_000);
});
