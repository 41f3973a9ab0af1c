/** Tests that the breaking check finds what buf finds, and fails from the first release on. */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import {
  type Break,
  breaksSince,
  findBreaks,
  reviewBreaks,
} from "../../tools/dev/contract-breaks.ts";

const file = "proto/shop/v1/shop.proto";
const lost: Break = {
  type: "FIELD_NO_DELETE",
  path: file,
  start_line: 5,
  message: 'Previously present field "1" with name "price" on message "Cart" was deleted.',
};
const line = `  ${file}:5: ${lost.message} (FIELD_NO_DELETE)`;

describe("a break", () => {
  test("fails from the first release on", () => {
    expect(reviewBreaks("v0.1.0", [lost], true)).toEqual({
      lines: ["breaks with v0.1.0:", line],
      failed: true,
    });
  });

  test("is printed and permitted before it", () => {
    expect(reviewBreaks("main", [lost], false)).toEqual({
      lines: ["1 breaks with main, permitted until the first release:", line],
      failed: false,
    });
  });

  test("without a file names the folder of the contract", () => {
    const message = 'Previously present package "shop.v1" was deleted.';
    const { lines } = reviewBreaks("main", [{ type: "PACKAGE_NO_DELETE", message }], true);
    expect(lines[1]).toBe(`  proto:1: ${message} (PACKAGE_NO_DELETE)`);
  });

  test("is none", () => {
    const none = { lines: ["no break with main"], failed: false };
    expect(reviewBreaks("main", [], true)).toEqual(none);
    expect(reviewBreaks("main", [], false)).toEqual(none);
  });
});

describe("buf, with the rules of this project", () => {
  let folder: string | undefined;
  afterEach(() => {
    if (folder !== undefined) rmSync(folder, { recursive: true });
    folder = undefined;
  });

  /** Writes a project whose only proto has this text after its package; returns its folder. */
  function project(name: string, text: string): string {
    folder ??= mkdtempSync(join(tmpdir(), "meguri-contract-breaks-"));
    const root = join(folder, name);
    mkdirSync(join(root, "proto", "shop", "v1"), { recursive: true });
    mkdirSync(join(root, ".cache", "protos"), { recursive: true });
    copyFileSync(join(import.meta.dirname, "..", "..", "buf.yaml"), join(root, "buf.yaml"));
    writeFileSync(join(root, file), `syntax = "proto3";\npackage shop.v1;\n${text}`);
    return root;
  }

  const rpc = (name: string) => `  rpc ${name}(Cart) returns (Cart);\n`;
  const protoOf = (fields: string, rpcs: string) =>
    `message Cart {\n${fields}}\nservice Shop {\n${rpcs}}\n`;
  const owner = "  string owner = 2;\n";
  const before = protoOf(`  int64 price = 1;\n${owner}`, rpc("Buy") + rpc("See"));
  const reserved = '  reserved 1;\n  reserved "price";\n';
  const after = protoOf(`${reserved}${owner}  string note = 4;\n`, rpc("Buy") + rpc("Add"));
  const breaks = [
    ["FIELD_NO_DELETE", file, lost.message],
    ["RPC_NO_DELETE", file, 'Previously present RPC "See" on service "Shop" was deleted.'],
  ];
  const summaryOf = (found: readonly Break[]) =>
    found.map(({ type, path, message }) => [type, path, message]).sort();

  test("finds a lost method and a lost field, though reserved, and no break in additions", () => {
    const found = findBreaks(project("after", after), project("before", before));
    expect(summaryOf(found)).toEqual(breaks);
  });

  test("finds nothing in equal protos", () => {
    expect(findBreaks(project("after", before), project("before", before))).toEqual([]);
  });

  test("protos that do not compile are never permitted", () => {
    const found = findBreaks(project("after", "message {"), project("before", before));
    expect(found.map(({ type }) => type)).toContain("COMPILE");
    expect(reviewBreaks("main", found, false).failed).toBe(true);
  });

  test("a folder without protos is an error", () => {
    const root = project("after", before);
    expect(() => findBreaks(root, join(root, "nowhere"))).toThrow("buf breaking failed");
  });

  test("compares with a commit, be it a branch or the recorded commit of a release", () => {
    const root = project("history", before);
    const git = (...args: string[]) => execFileSync("git", args, { cwd: root, encoding: "utf8" });
    git("init", "--quiet", "--initial-branch", "main");
    git("add", "buf.yaml", "proto");
    git("-c", "user.name=mei", "-c", "user.email=mei@shop.example", "commit", "-qm", "Release");
    const release = git("rev-parse", "HEAD").trim();
    expect(breaksSince(root, release)).toEqual([]);
    project("history", after);
    expect(summaryOf(breaksSince(root, release))).toEqual(breaks);
    expect(summaryOf(breaksSince(root, "main"))).toEqual(breaks);
    expect(() => breaksSince(root, "v9")).toThrow("there is no v9 to compare with");
  });
});
